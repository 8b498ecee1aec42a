"""What rich draws: tables, and text in lines that fit. Only where a person looks at a terminal."""

import io
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console, JustifyMethod, RenderableType
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from kdiag_cli.output.table.layout import GAP, TableColumn, TextTable, lay_out
from kdiag_cli.output.terminal import (
    BOLD,
    CYAN,
    DIM,
    GREEN,
    RED,
    YELLOW,
    Output,
    columns_of,
    padded,
    print_paragraph,
)

_STYLES: Final = {
    BOLD: "bold",
    CYAN: "cyan",
    DIM: "dim",
    GREEN: "green",
    RED: "red",
    YELLOW: "yellow",
}
_LEAST_COLUMNS: Final = 10
_HEIGHT: Final = 25

_SLICE: Final = 200
_DRAWN_ROWS: Final = 1000
"""Beyond these, rows that fit are joined: rich takes 200 times as long, which a person notices."""


def console_of(output: Output, width: int | None = None) -> Console:
    """Return a console of rich's that draws for an output, and writes nowhere."""
    return Console(
        file=io.StringIO(),
        width=max(width or output.width or _LEAST_COLUMNS, _LEAST_COLUMNS),
        height=_HEIGHT,
        force_terminal=True,
        color_system="standard" if output.has_colour else None,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
    )


def drawn(console: Console, thing: RenderableType) -> Iterator[str]:
    """Yield what is drawn in lines, without the blanks at their ends."""
    for line in console.render_lines(thing, pad=False):
        segments = list(Segment.simplify(line))
        while segments and not segments[-1].text.strip(" "):
            segments.pop()
        if segments:
            text, style, _ = segments.pop()
            segments.append(Segment(text.rstrip(" "), style))
        with console.capture() as capture:
            console.print(Segments(segments), end="", soft_wrap=True)
        yield capture.get()


def wrapped(output: Output, text: str, width: int) -> Iterator[str]:
    """Yield text in lines; what is painted stays so on the next one."""
    console = console_of(output, width)
    for line in Text.from_ansi(text).wrap(console, console.width, overflow="fold"):
        yield from drawn(console, line)


def draw_table(output: Output, table: TextTable) -> None:
    """Print a table in columns that fit a terminal, or row by row in blocks if they cannot."""
    width = output.width or _LEAST_COLUMNS
    layout = lay_out(table, width, is_wide=output.is_wide)
    shown = table.only(layout.shown)
    if layout.widths is None:
        _draw_blocks(output, shown)
    else:
        _draw_columns(output, shown, layout.widths)
    left_out = set(range(len(table.columns))).difference(layout.shown)
    if left_out and table.rows:
        names = ", ".join(table.columns[each].header for each in sorted(left_out))
        columns = "column" if len(left_out) == 1 else "columns"
        note = f"{len(left_out)} {columns} left out (--wide shows all): {names}"
        print_paragraph(output, output.paint(note, DIM))


def _draw_columns(output: Output, table: TextTable, widths: Sequence[int]) -> None:
    console = console_of(output)
    for start in range(0, max(len(table.rows), 1), _SLICE):
        rows = table.rows[start : start + _SLICE]
        if start < _DRAWN_ROWS or any(_is_wrapped(row, widths) for row in rows):
            has_headers = table.has_headers and start == 0
            lines = drawn(console, grid(table._replace(rows=rows, has_headers=has_headers), widths))
        else:
            lines = (_joined(row, widths, table.numeric) for row in rows)
        for line in lines:
            output.line(line)


def _draw_blocks(output: Output, table: TextTable) -> None:
    console = console_of(output)
    labels = [output.paint(each, BOLD) for each in _labels(table)]
    room = console.width - columns_of(_labels(table)[0]) - GAP
    for number, row in enumerate(table.rows):
        if number:
            output.line("")
        if number < _DRAWN_ROWS or any(columns_of(cell) > room for cell in row):
            lines = drawn(console, block(table, row))
        else:
            gap = " " * GAP
            lines = (label + gap + cell for label, cell in zip(labels, row, strict=True))
        for line in lines:
            output.line(line)


def grid(table: TextTable, widths: Sequence[int]) -> Table:
    """Return a table as rich has it, with columns of these widths."""
    drawing = _bare_table(has_headers=table.has_headers)
    for column, width, is_numeric in zip(table.columns, widths, table.numeric, strict=True):
        justify: JustifyMethod = "right" if is_numeric else "left"
        drawing.add_column(Text(column.header), width=width, justify=justify, overflow="fold")
    for row in table.rows:
        cells = zip(row, table.columns, strict=True)
        drawing.add_row(*(_cell(cell, column) for cell, column in cells))
    return drawing


def block(table: TextTable, row: Sequence[str]) -> Table:
    """Return a row as rich has it, in lines of `HEADER  value`."""
    drawing = _bare_table(has_headers=False)
    drawing.add_column(style="bold", overflow="fold")
    drawing.add_column(overflow="fold")
    for label, column, cell in zip(_labels(table), table.columns, row, strict=True):
        drawing.add_row(Text(label), _cell(cell, column))
    return drawing


def _labels(table: TextTable) -> list[str]:
    """Return the headers of a table, all of one width."""
    widest = max(columns_of(column.header) for column in table.columns)
    return [padded(column.header, widest) for column in table.columns]


def _bare_table(*, has_headers: bool) -> Table:
    return Table(
        box=None,
        pad_edge=False,
        padding=(0, GAP, 0, 0),
        header_style="bold",
        show_header=has_headers,
    )


def _cell(text: str, column: TableColumn) -> Text:
    cell = Text(text)
    colour = column.colours.get(text)
    if colour is not None:
        cell.stylize(_STYLES[colour])
    return cell


def _is_wrapped(row: Sequence[str], widths: Sequence[int]) -> bool:
    return any(columns_of(cell) > width for cell, width in zip(row, widths, strict=True))


def _joined(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    cells = (
        cell.rjust(width) if is_numeric else padded(cell, width)
        for cell, width, is_numeric in zip(row, widths, numeric, strict=True)
    )
    return (" " * GAP).join(cells).rstrip()
