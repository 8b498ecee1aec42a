from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.client.config.jaas import JaasEntry, parse_jaas
from tiers.cases import for_each

ACCEPTED = [
    ('M required username="alice" password="secret";', {"username": "alice", "password": "secret"}),
    (
        "M required username='alice' password='se\"cret';",
        {"username": "alice", "password": 'se"cret'},
    ),
    ("M required username=alice password=secret;", {"username": "alice", "password": "secret"}),
    (r'M required password="a\"b\\c\n\101";', {"password": 'a"b\\c\nA'}),
    (r'M required a="\u0041\x41\7\1234\8";', {"a": "u0041x41\x07S48"}),
    (r'M required a="\t\r\f\a\b\v";', {"a": "\t\r\f\a\b\v"}),
    ('M required username = "alice"   password= "x" ;', {"username": "alice", "password": "x"}),
    ('M required\n username="alice"\n password="x";\n', {"username": "alice", "password": "x"}),
    ('M REQUIRED username="a";', {"username": "a"}),
    ("M sufficient;", {}),
    ('M required username="a" /* c */ password="b"; // end', {"username": "a", "password": "b"}),
    ('M required password="b#c;d=e";', {"password": "b#c;d=e"}),
    ("M required user.name=a-b_c$d é=ü;", {"user.name": "a-b_c$d", "é": "ü"}),
    ('M "required" "username"="a";', {"username": "a"}),
    ('M required username="";', {"username": ""}),
    ('M required username="a" username="b";', {"username": "b"}),
    ("M required tokenauth=true;", {"tokenauth": "true"}),
]
"""What Kafka 4.4.0's own `JaasContext` made of each."""

REFUSED = [
    "",
    "   ",
    "M",
    "M;",
    'M username="alice" password="secret";',
    'M wanted username="a";',
    'M required username="alice" password="secret"',
    'M required username="alice" password=123;',
    "M required username=1abc;",
    "M required username=-abc;",
    "M required username=a#b;",
    "M required username=a/b;",
    "M required username=a-b@c;",
    "M required username;",
    "M required username=;",
    "M required =a;",
    'M required username="a"; M required username="b";',
    'M required username="a";;',
    'M required username="a" password="b\nc";',
    'M required password="unterminated;',
    "; required;",
]
"""What Kafka 4.4.0's own `JaasContext` refused."""


@for_each(("text", "options"), ACCEPTED)
def test_it_is_read_as_java_reads_it(text: str, options: dict[str, str]) -> None:
    """Quotes, escapes, comments and words are those of `StreamTokenizer`."""
    assert parse_jaas(text) == JaasEntry("M", options)


@for_each("text", REFUSED)
def test_what_java_refuses_is_refused(text: str) -> None:
    """An application with such a configuration does not start."""
    with pytest.raises(ValueError, match="expected"):
        parse_jaas(text)


@for_each(
    ("text", "why"),
    [
        ("a.PlainLoginModule username=alice;", "the word `required` at character 20"),
        ("M required password=5ecret;", "a value at character 21; whatever begins with a digit"),
        ("M required password 'x';", "an equals sign at character 21"),
        ("M required username='alice' password='x'", "a semicolon at the end"),
        ("M required; N required;", "nothing after the semicolon, at character 13"),
    ],
)
def test_the_message_says_where_and_quotes_nothing(text: str, why: str) -> None:
    """What stands in the wrong place may be the password."""
    with pytest.raises(ValueError, match="expected") as error:
        parse_jaas(text)
    assert why in str(error.value)


@pytest.mark.thorough
@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True),
        st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])),
    )
)
def test_any_value_can_be_quoted(options: dict[str, str]) -> None:
    """Backslashes and quotes need a backslash; nothing else does."""
    quoted = (
        '{}="{}"'.format(key, value.replace("\\", "\\\\").replace('"', '\\"'))
        for key, value in options.items()
    )
    assert parse_jaas(f"M required {' '.join(quoted)};").options == options


@given(st.text("Mrequid =;\"'\\/*\n#1.-$é"))
def test_nothing_else_escapes(text: str) -> None:
    """Whatever is written, it is an entry or a ValueError."""
    with suppress(ValueError):
        assert parse_jaas(text).login_module
