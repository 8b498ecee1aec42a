import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from kdiag_cli.output import drawing
from kdiag_cli.output.drawing import block, console_of, drawn, grid, wrapped
from kdiag_cli.output.table.layout import TableColumn, TextTable
from kdiag_cli.output.terminal import RED, columns_of
from programs.kdiag_program import Printed

CELLS = st.text("ab 注é\U0001f600", max_size=9).map(str.strip)
TWO_COLUMNS = [TableColumn("A"), TableColumn("B")]


def test_text_is_wrapped_between_words_and_words_are_cut_where_they_are_long() -> None:
    """Wide characters count as two."""
    assert list(wrapped(Printed(80), "one two three", 8)) == ["one two", "three"]
    assert list(wrapped(Printed(80), "abcdefghijklmn", 12)) == ["abcdefghijkl", "mn"]
    assert list(wrapped(Printed(80), "注文書注文書", 10)) == ["注文書注文", "書"]


def test_what_is_painted_stays_so_on_the_next_line() -> None:
    """And where there are no colours, there are none."""
    screen = Printed(80, has_colour=True)
    painted = f"it is {screen.paint('not reachable', RED)} now"

    assert list(wrapped(screen, painted, 10)) == [
        "it is \x1b[31mnot\x1b[0m",
        "\x1b[31mreachable\x1b[0m",
        "now",
    ]


def test_nothing_is_drawn_outside_a_narrow_terminal() -> None:
    """Ten columns are the least."""
    assert console_of(Printed(3)).width == 10
    assert console_of(Printed(80), 40).width == 40


def test_markup_of_rich_is_text_like_any_other() -> None:
    """A client id may have brackets and colons."""
    screen = Printed(80, has_colour=True)
    table = TextTable(TWO_COLUMNS, [["[red]x[/red]", ":smile: 12"]], [False, False])

    assert list(drawn(console_of(screen), grid(table, [12, 10])))[1] == "[red]x[/red]  :smile: 12"
    assert list(drawn(console_of(screen), Text("[bold]"))) == ["[bold]"]


@given(rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=5), number=st.booleans())
def test_rows_that_fit_look_the_same_however_they_are_drawn(
    rows: list[tuple[str, str]], *, number: bool
) -> None:
    """By rich, or joined, which long tables need."""
    widths = [max(columns_of(cell) for cell in column) + 1 for column in zip(*rows, strict=True)]
    table = TextTable(TWO_COLUMNS, rows, [number and rows[0][0].isascii(), False])
    if table.numeric[0] and not all(row[0].isascii() for row in rows):
        table = table._replace(numeric=[False, False])

    by_rich = list(drawn(console_of(Printed(80)), grid(table._replace(has_headers=False), widths)))

    assert by_rich == [drawing._joined(row, widths, table.numeric) for row in rows]


@pytest.mark.thorough
@pytest.mark.parametrize("rows", [3, 1300])
def test_rows_in_blocks_look_the_same_to_the_last(rows: int) -> None:
    """Header and value on each line, an empty line between rows."""
    output = Printed(27)
    table = TextTable(TWO_COLUMNS, [["a" * 22, "b" * 22]] * rows, [False, False])

    drawing.draw_table(output, table)

    assert output.lines == [*["A  " + "a" * 22, "B  " + "b" * 22, ""] * rows][:-1]


def test_a_value_in_a_block_goes_on_below_itself() -> None:
    """The header stands before its first line."""
    table = TextTable([TableColumn("HEADER")], [["one two three"]], [False])

    lines = list(drawn(console_of(Printed(16)), block(table, ["one two three"])))

    assert lines == ["HEADER  one two", "        three"]
