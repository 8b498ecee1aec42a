"""The answer to a question about tables: aligned for people, JSON, JSON lines or CSV."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kdiag.exchange.line.shown_time import in_shown_zone
from kdiag_cli.output.json_text import print_json
from kdiag_cli.output.result import print_document
from kdiag_cli.output.table.delimited import DelimitedRows, cell_text
from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import Output, clipped, harmless

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_COLUMNS: Final = 500
"""How much of a cell a terminal shows, unless `--wide` asks for all."""

_TYPED_OUT: Final = 8
"""Of a query with more columns than a user types out, the last make room for the first three."""

_UNITS: Final = {
    "_bytes_per_s": "bytes/s",
    "_bytes_per_batch": "bytes",
    "_bytes_per_frame": "bytes",
    "_bytes": "bytes",
    "_us": "us",
    "_ms": "ms",
    "_pct": "percent",
}
_ENCODE: Final = msgspec.json.Encoder(decimal_format="number").encode


class AnswerFormat(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"


class TableAnswer:
    """Rows with names for their columns, which are read once and may be many.

    Attributes:
        names: of the columns; of equal ones the second becomes `name_2`.
    """

    def __init__(self, names: "Sequence[str]", batches: Iterable[Any]) -> None:
        """Take the names of the columns and the record batches of the rows."""
        self.names = _distinct(names)
        self._batches = batches

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows in values that JSON knows."""
        for batch in self._batches:
            columns = [_values(column) for column in batch.columns]
            for row in zip(*columns, strict=True):
                yield tuple(_plain(value) for value in row)

    def documents(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as JSON objects."""
        for row in self.rows():
            yield dict(zip(self.names, row, strict=True))


def print_answer(  # noqa: PLR0913 - how it is printed
    output: Output,
    answer: TableAnswer,
    form: AnswerFormat,
    *,
    command: str,
    has_headers: bool = True,
    is_csv_safe: bool = False,
    wide: "Sequence[str]" = (),
) -> None:
    """Print an answer.

    Args:
        output: where to.
        answer: what to print; a table and a JSON document keep all its rows.
        form: how.
        command: the name that the JSON document bears.
        has_headers: whether the names of the columns stand above a table and in CSV.
        is_csv_safe: whether no cell of CSV may begin like a formula.
        wide: columns that make room for others on a narrow terminal, the first of them first.
    """
    if form is AnswerFormat.JSON:
        print_document(output, command, [msgspec.Raw(_ENCODE(each)) for each in answer.documents()])
    elif form is AnswerFormat.JSONL:
        for document in answer.documents():
            print_json(output, _ENCODE(document), is_line=True)
    elif form is AnswerFormat.CSV:
        rows = DelimitedRows(output.write, is_safe=is_csv_safe)
        if has_headers:
            rows.row(answer.names)
        for row in answer.rows():
            rows.row(row)
    else:
        cells = [[_cell(value) for value in row] for row in answer.rows()]
        if output.is_terminal and not output.is_wide:
            cells = [list(map(_clip, row)) for row in cells]
        print_table(output, _columns(answer.names, wide), cells, has_headers=has_headers)


def _columns(names: "Sequence[str]", wide: "Sequence[str]") -> list[TableColumn]:
    """Return the columns of a table with their ranks."""
    ranks = {name: rank for rank, name in enumerate(reversed(wide), 1)}
    if len(names) > _TYPED_OUT and not wide:
        ranks = {name: max(0, place - 2) for place, name in enumerate(names)}
    return [
        TableColumn(
            harmless(name).upper().replace("_", "-"),
            ranks.get(name, 0),
            _unit(name) if wide else "",  # who writes SQL gets the numbers that it makes
        )
        for name in names
    ]


def _unit(name: str) -> str:
    """Return what a column of a report counts, by its name."""
    return next((unit for ending, unit in _UNITS.items() if f"_{name}".endswith(ending)), "")


def _cell(value: Any) -> Any:
    """Return a value that is one text or number; lists and structs become JSON."""
    return cell_text(value) if isinstance(value, bool | list | dict) else value


def _clip(cell: Any) -> Any:
    """Return a cell cut to what leaves room for others."""
    return clipped(cell, _MOST_COLUMNS) if isinstance(cell, str) else cell


def _values(column: Any) -> list[Any]:
    """Return the values of a column; with times that no calendar has it is one of numbers."""
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        values = column.cast("int64").to_pylist()
    return values


def _plain(value: Any) -> Any:  # noqa: PLR0911 - one return for each kind
    """Return a value of Arrow as JSON has it: the output contract's forms of bytes and numbers."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else _NOT_FINITE[str(value)]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else value
    if isinstance(value, datetime):
        return _iso(value).replace("+00:00", "Z")
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return str(value)


def _iso(moment: datetime) -> str:
    """Return a moment in the zone that is shown; one without a zone stays as it is."""
    if moment.tzinfo is None:
        return moment.isoformat()
    return in_shown_zone(moment).isoformat()


_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _distinct(names: "Sequence[str]") -> list[str]:
    distinct: list[str] = []
    for name in names:
        candidate, number = name, 1
        while candidate in distinct:
            number += 1
            candidate = f"{name}_{number}"
        distinct.append(candidate)
    return distinct
