"""Markdown for a terminal, drawn by rich as people read help: plain, on the left, nothing cut.

Headings are bold and not centred, code is indented and in no box, and tables fit as all tables of
kdiag's do: those that are too wide become blocks.
"""

import operator
from collections.abc import Iterator
from itertools import dropwhile

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, TableElement
from rich.padding import Padding
from rich.text import Text
from rich.theme import Theme

from kdiag_cli.output.drawing import block, console_of, drawn, grid
from kdiag_cli.output.table.layout import TableColumn, TextTable, lay_out
from kdiag_cli.output.terminal import Output

_INDENT = 2
_THEME = Theme({"markdown.code": "cyan"} | {f"markdown.h{level}": "bold" for level in range(1, 7)})


def markdown_lines(text: str, screen: Output, width: int) -> Iterator[str]:
    """Yield the lines of a text in Markdown, none of them wider than `width`.

    Args:
        text: what is written in Markdown.
        screen: where it is shown; paints if it has colours.
        width: in columns.
    """
    console = console_of(screen, width)
    with console.use_theme(_THEME):
        lines = drawn(console, _Topic(text, marks_code=not screen.has_colour))
        yield from dropwhile(operator.not_, lines)


class _Heading(Heading):
    """A heading on the left."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it."""
        self.text.justify = "left"
        yield self.text


class _Code(CodeBlock):
    """Lines of code as they are."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw them; only on a narrow terminal do lines become two."""
        for line in str(self.text).rstrip().split("\n"):
            yield Padding(Text(line or " ", overflow="fold"), (0, 0, 0, _INDENT), expand=False)


class _Table(TableElement):
    """A table that fits."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it in columns, or else row by row."""
        assert self.header is not None
        assert self.header.row is not None
        headers = [cell.content.plain for cell in self.header.row.cells]
        rows = (
            [[cell.content.plain for cell in row.cells] for row in self.body.rows]
            if self.body
            else []
        )
        table = TextTable([TableColumn(each) for each in headers], rows, [False] * len(headers))
        widths = lay_out(table, options.max_width).widths
        if widths is not None:
            yield grid(table, widths)
            return
        for number, row in enumerate(rows):
            if number:
                yield ""
            yield block(table, row)


class _Topic(Markdown):
    """Markdown with the elements above."""

    elements = Markdown.elements | {
        "heading_open": _Heading,
        "fence": _Code,
        "table_open": _Table,
    }

    def __init__(self, text: str, *, marks_code: bool) -> None:
        """Parse a text, in which `<address>` is no HTML.

        Args:
            text: in Markdown.
            marks_code: whether the marks of code within lines are shown.
        """
        super().__init__(text)
        for token in self._flatten_tokens(self.parsed):
            if token.type == "html_inline":
                token.type = "text"
            elif token.type == "code_inline" and marks_code:
                token.content = f"`{token.content}`"
