"""JAAS: reads `sasl.jaas.config`, in which Kafka's Java clients keep their credentials.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";

Java reads it with `StreamTokenizer`, whose rules hold here too: words are letters, digits and
`._-$`, begin with a letter, `_` or `$`, and anything else is in single or double quotes with C's
escapes; `/`, `//` and `/* */` begin comments.

Source: `JaasConfig`, `JaasContext` of Kafka 4.4.0; `java.io.StreamTokenizer`.
"""

import re
from typing import Final, NamedTuple

CONTROL_FLAGS: Final = frozenset({"required", "requisite", "sufficient", "optional"})

_END: Final = "end"
_TOKEN: Final = re.compile(
    r"""
    (?P<space>[\x00-\x20]+|/\*.*?(?:\*/|\Z)|/[^\r\n]*)
    |(?P<word>[A-Za-z_$\xa0-\U0010ffff][A-Za-z0-9_$.\-\xa0-\U0010ffff]*)
    |"(?P<double>(?:[^"\\\r\n]|\\.)*)"?
    |'(?P<single>(?:[^'\\\r\n]|\\.)*)'?
    |(?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class JaasEntry(NamedTuple):
    """The one entry of a `sasl.jaas.config`.

    Attributes:
        login_module: the name of a Java class.
        options: its options, secrets among them.
    """

    login_module: str
    options: dict[str, str]


class _Token(NamedTuple):
    """A word or a quoted text; a sign has no text."""

    text: str | None
    sign: str
    position: int


def parse_jaas(text: str) -> JaasEntry:
    """Return the one entry of a `sasl.jaas.config`.

    Raises:
        ValueError: if Java would refuse it; says where, and quotes nothing, since misplaced text
            may be the password.
    """
    tokens = _tokens(text)
    module = tokens.pop(0)
    if module.text is None:
        raise ValueError("expected the class of a login module first")
    flag = tokens.pop(0)
    if flag.text is None or flag.text.lower() not in CONTROL_FLAGS:
        raise ValueError(f"expected the word `required` at character {flag.position}")
    options: dict[str, str] = {}
    while tokens[0].sign != ";":
        if tokens[0].sign == _END:
            raise ValueError("expected a semicolon at the end")
        key, value = _option(tokens)
        options[key] = value
    if tokens[1].sign != _END:
        raise ValueError(
            f"expected nothing after the semicolon, at character {tokens[1].position}: Kafka takes "
            "one login module"
        )
    return JaasEntry(module.text, options)


def _tokens(text: str) -> list[_Token]:
    """Return the tokens of a text, and some that mark its end."""
    found = []
    for match in _TOKEN.finditer(text):
        position = match.start() + 1
        kind = match.lastgroup
        if kind == "sign":
            found.append(_Token(None, match.group(), position))
        elif kind == "word":
            found.append(_Token(match.group(), "", position))
        elif kind in {"double", "single"}:
            found.append(_Token(_ESCAPE.sub(_unescaped, match.group(kind)), "", position))
    return [*found, *[_Token(None, _END, len(text) + 1)] * 4]


def _unescaped(match: re.Match[str]) -> str:
    escape = match.group(1)
    return (
        chr(int(escape, 8)) if escape.isdigit() and escape < "8" else _ESCAPED.get(escape, escape)
    )


def _option(tokens: list[_Token]) -> tuple[str, str]:
    """Remove `key=value` from the tokens and return it."""
    key, equals, value = (tokens.pop(0) for _ in range(3))
    if key.text is None:
        raise ValueError(f"expected an option or a semicolon at character {key.position}")
    if equals.sign != "=":
        raise ValueError(f"expected an equals sign at character {equals.position}")
    if value.text is None:
        raise ValueError(
            f"expected a value at character {value.position}; whatever begins with a digit or "
            "holds signs must stand in quotes"
        )
    return key.text, value.text
