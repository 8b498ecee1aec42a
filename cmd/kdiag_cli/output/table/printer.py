"""The one printer of tables: what fits a terminal, or lines with tabs for other programs."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from kdiag_cli.output.table.layout import NOTHING, TableColumn, TextTable, headers_of
from kdiag_cli.output.terminal import Output, harmless
from kdiag_cli.output.units import header_of, with_unit

_NUMBER: Final = re.compile(
    r"\?|(>=|~|-)?([0-9]+|[0-9]{1,3}(,[0-9]{3})+)(\.[0-9]+)?"
    r"|(>=)?[0-9.]+(-[0-9.]+)? (µs|ms|s|min|h|d|[kMGT]?B(/s)?|%)"
)


def print_table(
    output: Output,
    columns: Sequence[TableColumn | str],
    rows: Iterable[Sequence[object]],
    *,
    has_headers: bool = True,
) -> None:
    """Print rows: as a terminal has room for them, with a tab between cells anywhere else.

    Args:
        output: where to.
        columns: what the cells are; a header stands for a column that is always shown.
        rows: a cell for each column; None is shown as `-`, numbers stand to the right.
        has_headers: whether the headers are printed.
    """
    if not output.is_terminal:
        if has_headers:
            output.line("\t".join(headers_of(columns)))
        for row in rows:
            output.line("\t".join(map(_text, row)))
        return
    known = [TableColumn(each) if isinstance(each, str) else each for each in columns]
    texts = [_people_row(row, known) for row in rows]
    if not texts and not has_headers:
        return
    from kdiag_cli.output.drawing import draw_table  # noqa: PLC0415 - rich: 40 ms, on terminals only

    headers = {each.header for each in known}
    shown = [each._replace(header=header_of(each.header, each.unit, headers)) for each in known]
    numeric = [_is_numeric([row[place] for row in texts]) for place in range(len(known))]
    draw_table(output, TextTable(shown, texts, numeric, has_headers))


def _text(value: object) -> str:
    return NOTHING if value is None else harmless(str(value))


def _people_row(row: Sequence[object], columns: Sequence[TableColumn]) -> list[str]:
    cells = zip(row, columns, strict=True)
    return [_text(with_unit(value, column.unit)) for value, column in cells]


def _is_numeric(cells: Sequence[str]) -> bool:
    """Return whether a column holds numbers, also such with a unit, as far as they are known."""
    known = [cell for cell in cells if cell not in {NOTHING, ""}]
    return bool(known) and all(map(_NUMBER.fullmatch, known))
