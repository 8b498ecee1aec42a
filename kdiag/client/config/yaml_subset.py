"""The part of YAML that people write configuration files in, without a library for the rest.

    mappings and lists by indentation, also a list as far left as its key
    text, plain or in quotation marks; `[a, b]` of plain text; comments

Anything else is refused with its line: anchors, tags, text over several lines, `{a: b}`.

Source: YAML 1.2.2, chapters 6 to 8.
"""

import re
from typing import Any, Final, NamedTuple

_MAX_DEPTH: Final = 20
_COMMENT: Final = re.compile(r"(?:^|\s)#.*$")
_KEY: Final = re.compile(
    r"""("[^"\\]*"|'[^']*'|[^\s\[\]{}&*!|>%@`"',#?-][^:#]*?)\s*:(?:\s+(.*))?$"""
)
_QUOTED: Final = re.compile(r"""("[^"\\]*"|'[^']*')\s*(?:#.*)?$""")
_LIST: Final = re.compile(r"\[([^\[\]{}\"']*)\]$")
_SPECIAL: Final = tuple("[]{}&*!|>%@`\"'")


class _YamlLine(NamedTuple):
    number: int
    indent: int
    text: str


def read_yaml(text: str) -> Any:
    """Return the value of a document: dictionaries, lists and text; None if it is empty.

    Raises:
        ValueError: if it holds what is not read here; the message names the line.
    """
    lines = [
        _YamlLine(number, len(line) - len(line.lstrip(" ")), line.strip())
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#") and line.strip() != "---"
    ]
    if not lines:
        return None
    value, end = _block(lines, 0, 0)
    if end < len(lines):
        raise _refused(lines[end])
    return value


def _block(lines: list[_YamlLine], start: int, depth: int) -> tuple[Any, int]:
    """Return the mapping or list that starts at a line, and the line behind it."""
    if depth > _MAX_DEPTH:
        raise ValueError(f"line {lines[start].number}: nested too deep")
    if lines[start].text == "-" or lines[start].text.startswith("- "):
        return _items(lines, start, depth)
    return _entries(lines, start, depth)


def _entries(lines: list[_YamlLine], start: int, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    indent, place = lines[start].indent, start
    while place < len(lines) and lines[place].indent == indent:
        line = lines[place]
        match = _KEY.match(line.text)
        if match is None or line.text.startswith("- "):
            raise _refused(line)
        key, rest = match[1].strip("\"'"), match[2]
        place += 1
        if rest and not rest.startswith("#"):
            found[key] = _scalar(rest, line)
            continue
        found[key] = None
        if place < len(lines) and _is_below(lines[place], indent):
            found[key], place = _block(lines, place, depth + 1)
    return found, place


def _is_below(line: _YamlLine, indent: int) -> bool:
    return line.indent > indent or (line.indent == indent and line.text.startswith("-"))


def _items(lines: list[_YamlLine], start: int, depth: int) -> tuple[list[Any], int]:
    found = []
    indent, place = lines[start].indent, start
    while place < len(lines) and lines[place].indent == indent and lines[place].text[:1] == "-":
        line = lines[place]
        rest = line.text[1:].lstrip()
        if _KEY.match(rest):  # a mapping that begins behind the dash
            lines[place] = _YamlLine(line.number, indent + len(line.text) - len(rest), rest)
            item, place = _block(lines, place, depth + 1)
            found.append(item)
        elif rest.startswith("-"):
            raise _refused(line)
        elif not rest and place + 1 < len(lines) and lines[place + 1].indent > indent:
            item, place = _block(lines, place + 1, depth + 1)
            found.append(item)
        else:
            found.append(_scalar(rest, line))
            place += 1
    return found, place


def _scalar(text: str, line: _YamlLine) -> Any:
    if quoted := _QUOTED.match(text):
        return quoted[1][1:-1]
    text = _COMMENT.sub("", text).strip()
    if text in {"{}", "null", "~", ""}:
        return None
    if many := _LIST.match(text):
        return [each.strip() for each in many[1].split(",") if each.strip()]
    if text.startswith(_SPECIAL):
        raise _refused(line)
    return text


def _refused(line: _YamlLine) -> ValueError:
    return ValueError(f"line {line.number}: expected `key: value` or `- value`, not {line.text!r}")
