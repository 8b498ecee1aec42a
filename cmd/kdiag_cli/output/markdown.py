"""Markdown for a terminal: headings in bold, tables aligned, the rest wrapped.

It reads what the topics of `kdiag help` are written in: headings, paragraphs, lists, code between
fences, tables, and `code` and **bold** within lines. The cells of a wide table are wrapped; one for
which that is not enough becomes a list, row by row:

    Nothing listens
      layer      TCP
      exit code  3
"""

import re
from collections.abc import Iterator
from itertools import zip_longest
from textwrap import wrap
from typing import Final

from kdiag_cli.output.terminal import BOLD, CYAN, Output, table

_FENCE: Final = "```"
_INDENT: Final = "  "
_LEAST_COLUMN: Final = 26
"""Cells that are wrapped into less are hard to read."""
_BULLET: Final = re.compile(r"(?:[-*]|\d+\.) ")
_CELL_END: Final = re.compile(r"(?<!\\)\|")
_RULE: Final = re.compile(r"\|[-:| ]+\|")
_MARKED: Final = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")


def markdown_lines(text: str, screen: Output, width: int) -> Iterator[str]:
    """Yield the lines of a text in Markdown, as wide as `width` at most but for code.

    Args:
        text: what is written in Markdown.
        screen: where it is shown; paints if it has colours.
        width: in columns.
    """
    for number, block in enumerate(_blocks(text)):
        if number:
            yield ""
        yield from _block_lines(block, screen, width)


def _blocks(text: str) -> Iterator[list[str]]:
    """Yield the parts between empty lines; those in code separate nothing."""
    block: list[str] = []
    is_code = False
    for line in text.splitlines():
        if line.startswith(_FENCE):
            is_code = not is_code
        if line.strip() or is_code:
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _block_lines(block: list[str], screen: Output, width: int) -> Iterator[str]:
    first = block[0]
    if first.startswith("#"):
        yield screen.paint(_plain(first.lstrip("# ")), BOLD)
    elif first.startswith(_FENCE):
        yield from (f"{_INDENT}{line}".rstrip() for line in block[1:-1])
    elif first.startswith("|"):
        yield from _table_lines(block, screen, width)
    else:
        for item in _items(block):
            mark = _BULLET.match(item)
            rest = " " * mark.end() if mark else ""
            yield from _painted(_wrap(item, width, "", rest), screen)


def _items(block: list[str]) -> Iterator[str]:
    """Yield the items of a list, each on one line; a paragraph is one."""
    item = ""
    for line in block:
        if item and _BULLET.match(line):
            yield item
            item = ""
        item = f"{item} {line.strip()}".strip()
    yield item


def _table_lines(block: list[str], screen: Output, width: int) -> Iterator[str]:
    rows = [_cells(line) for line in block if not _RULE.fullmatch(line)]
    widths = _column_widths(rows, width)
    if widths is None:
        titles, *rest = rows
        for number, row in enumerate(rest):
            if number:
                yield ""
            yield from _row_lines(titles, row, screen, width)
        return
    wrapped = [
        [_wrap(cell, limit) for cell, limit in zip(row, widths, strict=True)] for row in rows
    ]
    lines = table(line for row in wrapped for line in zip_longest(*row, fillvalue=""))
    head = max(map(len, wrapped[0]))
    for number, line in enumerate(lines):
        yield screen.paint(line, BOLD) if number < head else line


def _column_widths(rows: list[tuple[str, ...]], width: int) -> list[int] | None:
    """Return how wide columns may be for a table to fit; None if some would be too narrow."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    while sum(widths) + len(_INDENT) * (len(widths) - 1) > width:
        widest = max(widths)
        if widest <= _LEAST_COLUMN:
            return None
        widths[widths.index(widest)] -= 1
    return widths


def _row_lines(
    titles: tuple[str, ...], row: tuple[str, ...], screen: Output, width: int
) -> Iterator[str]:
    """Yield a row as a list: its first cell, then each other one behind its title."""
    for line in _wrap(row[0], width):
        yield screen.paint(line, BOLD)
    widest = max(map(len, titles[1:]))
    for title, cell in zip(titles[1:], row[1:], strict=True):
        head = f"{_INDENT}{title.ljust(widest)}{_INDENT}"
        yield from _wrap(cell, width, head, " " * len(head))


def _cells(line: str) -> tuple[str, ...]:
    inside = line.strip().removeprefix("|").removesuffix("|")
    return tuple(_plain(cell.strip().replace("\\|", "|")) for cell in _CELL_END.split(inside))


def _wrap(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Return a text as lines, with what the first one begins with, and the others."""
    return wrap(text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def _plain(text: str) -> str:
    """Return a line without the marks of code and bold."""
    return _MARKED.sub(lambda match: match[1] or match[2], text)


def _painted(lines: list[str], screen: Output) -> Iterator[str]:
    """Yield the lines of a paragraph; what is marked may begin on one and end on another."""
    if not screen.has_colour:
        yield from lines
        return
    text = _MARKED.sub(lambda match: _paint(match, screen), "\n".join(lines))
    yield from text.split("\n")


def _paint(match: re.Match[str], screen: Output) -> str:
    marked, colour = (match[1], CYAN) if match[1] else (match[2], BOLD)
    return "\n".join(screen.paint(part, colour) for part in marked.split("\n"))
