from collections.abc import Sequence

from kdiag_cli.output.table.layout import TableColumn, TextTable, headers_of, lay_out


def table(*columns: tuple[str, int, str]) -> TextTable:
    """Return a table of one row: header, rank and cell of each column."""
    return TextTable(
        [TableColumn(header, rank) for header, rank, _ in columns],
        [[cell for _, _, cell in columns]],
        [cell.isdecimal() for _, _, cell in columns],
    )


def shown(*columns: tuple[str, int, str], width: int, is_wide: bool = False) -> Sequence[object]:
    """Return the headers that are shown, or None with them if they are not side by side."""
    layout = lay_out(table(*columns), width, is_wide=is_wide)
    headers = [columns[place][0] for place in layout.shown]
    return [*headers, None] if layout.widths is None else headers


def test_what_fits_is_shown_as_wide_as_it_is() -> None:
    """Also columns without a value, and of any rank."""
    layout = lay_out(table(("A", 3, "x"), ("LONG", 0, "-")), 7)

    assert (list(layout.shown), layout.widths) == ([0, 1], [1, 4])


def test_empty_columns_go_first_and_then_the_highest_ranks() -> None:
    """One by one; what has no rank stays."""
    columns = (("NAME", 0, "n" * 10), ("A", 2, "a" * 10), ("B", 1, "b" * 10), ("C", 0, "-"))

    assert shown(*columns, width=37) == ["NAME", "A", "B", "C"]
    assert shown(*columns, width=36) == ["NAME", "A", "B"]
    assert shown(*columns, width=33) == ["NAME", "B"]
    assert shown(*columns, width=21) == ["NAME"]


def test_a_table_without_rows_has_no_empty_columns() -> None:
    """Its headers are shown as they fit."""
    layout = lay_out(TextTable([TableColumn("A"), TableColumn("B")], [], [False, False]), 80)

    assert list(layout.shown) == [0, 1]


def test_others_make_room_before_text_is_narrower_than_comfortable() -> None:
    """Then it is narrowed, down to what is still read with ease."""
    columns = (("NAME", 0, "n" * 10), ("A", 1, "a" * 20), ("TEXT", 0, "word " * 20))

    assert shown(*columns, width=74) == ["NAME", "A", "TEXT"]
    assert shown(*columns, width=73) == ["NAME", "TEXT"]
    assert shown(*columns, width=32) == ["NAME", "TEXT"]
    assert shown(*columns, width=31) == ["NAME", "A", "TEXT", None]


def test_text_is_narrower_still_where_there_would_be_many_blocks() -> None:
    """A few rows are easier to read as blocks."""
    columns = [TableColumn("A"), TableColumn("B")]
    few, many = (
        TextTable(columns, [["a" * 30, "b" * 30]] * rows, [False, False]) for rows in (7, 8)
    )

    assert lay_out(few, 41).widths is None
    widths = lay_out(many, 28).widths
    assert widths is not None
    assert sum(widths) == 26
    assert lay_out(many, 27).widths is None


def test_all_columns_are_shown_where_that_was_asked_for() -> None:
    """Side by side if they fit, else in blocks."""
    columns = (("NAME", 0, "n" * 10), ("A", 1, "a" * 10), ("B", 0, "-"))

    assert shown(*columns, width=25, is_wide=True) == ["NAME", "A", "B"]
    assert shown(*columns, width=24, is_wide=True) == ["NAME", "A", "B", None]


def test_the_column_gives_way_that_makes_the_fewest_lines_more() -> None:
    """A single long type among short ones, rather than the prose in every row."""
    rows = [["int", "word " * 12]] * 9 + [["array<struct<topic:string, partition:int>>", "word"]]
    prose = TextTable([TableColumn("TYPE"), TableColumn("MEANING")], rows, [False, False])

    widths = lay_out(prose, 82).widths

    assert widths == [20, 60]


def test_words_are_not_cut_while_text_can_be_wrapped() -> None:
    """A name in two pieces is harder to read than text on another line."""
    rows = [["n" * 30, "word " * 6]]
    layout = lay_out(TextTable([TableColumn("A"), TableColumn("B")], rows, [False, False]), 52)

    assert layout.widths == [30, 20]


def test_numbers_are_never_wrapped() -> None:
    """A number in two pieces is another number."""
    assert shown(("N", 0, "1" * 30), ("M", 0, "2" * 30), width=50) == ["N", "M", None]


def test_columns_are_named_by_their_headers() -> None:
    """A header alone is a column that is always shown."""
    assert headers_of([TableColumn("A", 1), "B"]) == ["A", "B"]
