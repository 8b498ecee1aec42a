import csv
import io
import json
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag_cli.output.table.delimited import COMMA, TAB, DelimitedRows
from tiers.cases import for_each

NUMBER = re.compile(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", re.IGNORECASE)


def written(*rows: Sequence[object], delimiter: str = COMMA, is_safe: bool = False) -> str:
    """Return rows as they are written."""
    lines: list[bytes] = []
    writer = DelimitedRows(lines.append, delimiter, is_safe=is_safe)
    for row in rows:
        writer.row(row)
    assert len(lines) == len(rows)
    return b"".join(lines).decode()


def test_cells_are_plain_values_and_json() -> None:
    """None is an empty cell."""
    row = [None, True, 7, 1.5, "a,b", 'say "x"', [1, "c\x9b"], {"k": None}]
    text = written(row)

    (cells,) = csv.reader(io.StringIO(text))
    assert cells == ["", "true", "7", "1.5", "a,b", 'say "x"', '[1,"c\\u009b"]', '{"k":null}']
    assert json.loads(cells[6]) == [1, "c\x9b"]


@pytest.mark.thorough
@given(st.lists(st.text() | st.lists(st.text()), min_size=1))
def test_a_row_is_a_line_and_harmless(row: list[object]) -> None:
    """Whatever the wire said."""
    for delimiter in (COMMA, TAB):
        text = written(row, delimiter=delimiter)
        assert text.splitlines() == [text[:-1]]
        assert text[:-1].replace("\t", "").isprintable()


@for_each(
    "cell",
    ["=1+1", "+1+cmd|' /C calc'!A0", "-2+3", "-x", "@SUM(1)", "=", "-", "＝1+1", "-Infinity"],  # noqa: RUF001 - taken for a formula, too
)
def test_no_cell_begins_a_formula_where_that_is_asked_for(cell: str) -> None:
    """A spreadsheet takes the apostrophe for "text follows"."""
    assert written([cell], is_safe=True) == f"'{cell}\n"
    assert written([cell], delimiter=TAB, is_safe=True) == f"'{cell}\n"
    assert written([cell]) == f"{cell}\n"


@for_each("cell", ["-5", "+5", "-1.5e-3", "5", "a=b", "x@y", "'=1", " =1", "Αθήνα", ""])
def test_numbers_and_other_texts_stay(cell: str) -> None:
    """So does what merely has such a character inside."""
    expected = csv_cell(cell)
    assert written([cell], is_safe=True) == expected


def csv_cell(cell: str) -> str:
    """Return what Python's own writer makes of one cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([cell])
    return text.getvalue()


@pytest.mark.thorough
@given(st.lists(st.text("=+-@\t\r\n'a1.e"), min_size=1))
def test_safe_cells_begin_with_nothing_that_spreadsheets_run(row: list[object]) -> None:
    """Numbers are the exception."""
    (cells,) = csv.reader(io.StringIO(written(row, is_safe=True)))
    assert all(cell[:1] not in set("=+-@\t\r\n") or NUMBER.fullmatch(cell) for cell in cells)
