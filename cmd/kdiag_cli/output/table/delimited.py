r"""CSV and TSV: the one writer of rows for other programs.

Cells come from the wire, so whatever is not printable is written as an escape such as `\x1b`: a
row is a line, and `cat` shows it safely. A spreadsheet reads more into a cell: `=1+1` is a formula,
and one that names a URL sends what stands beside it there. `is_safe` puts an apostrophe before
such cells, which spreadsheets take for "text follows":

    =1+1  ->  '=1+1        -5    ->  -5      (a number)
    @SUM  ->  '@SUM        -2+3  ->  '-2+3
"""

import csv
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from kdiag_cli.output.json_text import escaped
from kdiag_cli.output.terminal import harmless

COMMA: Final = ","
TAB: Final = "\t"

_FORMULA: Final = re.compile(r"[=+\-@\t\r\n＝＋－＠]")  # noqa: RUF001 - spreadsheets take wide ones too
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_ENCODE: Final = msgspec.json.Encoder(decimal_format="number").encode


class DelimitedRows:
    """Writes rows of cells, a line each."""

    def __init__(
        self, write: Callable[[bytes], None], delimiter: str = COMMA, *, is_safe: bool = False
    ) -> None:
        """Write rows somewhere.

        Args:
            write: receives a whole line at a time.
            delimiter: `COMMA`, with quotation marks where a cell needs them, or `TAB`, without.
            is_safe: whether no cell may begin like a formula.
        """
        self._write = write
        self._is_tabular = delimiter == TAB
        self._is_safe = is_safe
        self._csv = csv.writer(self, lineterminator="\n")

    def row(self, cells: Iterable[Any]) -> None:
        """Write a row; None is an empty cell, lists and objects are JSON."""
        texts = map(cell_text, cells)
        if self._is_safe:
            texts = map(_without_formula, texts)
        if self._is_tabular:
            self.write("\t".join(texts) + "\n")
        else:
            self._csv.writerow(texts)

    def write(self, line: str) -> None:
        """Write a line of text: what Python's writer of CSV calls."""
        self._write(line.encode("utf-8", "replace"))


def cell_text(value: Any) -> str:
    """Return a value as a cell: harmless, and without an end of line."""
    if value is None:
        return ""
    if isinstance(value, bool | list | dict):
        value = escaped(_ENCODE(value)).decode()
    return harmless(str(value))


def _without_formula(text: str) -> str:
    is_formula = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text
