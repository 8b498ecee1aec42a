import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import GREEN, columns_of, harmless
from programs.kdiag_program import Printed

BROKERS = (
    TableColumn("NODE-ID"),
    TableColumn("ADDRESS"),
    TableColumn("RACK", 2),
    TableColumn("RTT-MS", 1, unit="ms"),
    TableColumn("NOTE"),
)
ROWS = [
    (1, "kafka-1.example.com:9092", None, 0.52, "it leads 12 partitions, and follows 24"),
    (10, "kafka-10.example.com:9092", None, 12.5, None),
]
CELLS = st.none() | st.integers() | st.text("ab 注é\u0301\U0001f600-\x1b", max_size=90)


def printed(width: int | None, *, is_wide: bool = False, has_headers: bool = True) -> list[str]:
    """Return the lines of a table of brokers."""
    output = Printed(width)
    output.is_wide = is_wide
    print_table(output, BROKERS, ROWS, has_headers=has_headers)
    return output.lines


def test_a_table_on_a_terminal_is_aligned_with_numbers_to_the_right() -> None:
    """What is not known is a dash, in a column of numbers too."""
    output = Printed(80, has_colour=True)

    print_table(output, ("NODE-ID", "RACK", "RTT-MS"), [(1, "a", 12.5), (10, None, None)])

    assert output.lines == [
        "\x1b[1mNODE-ID  RACK  RTT-MS\x1b[0m",
        "      1  a       12.5",
        "     10  -          -",
    ]


def test_a_table_in_a_pipe_has_tabs_and_nothing_in_a_cell_breaks_it() -> None:
    """A tab or a line feed in a name becomes an escape."""
    output = Printed()

    print_table(output, ("TOPIC", "PARTITION"), [("a\tb\n", 3), ("c", None)])

    assert output.lines == ["TOPIC\tPARTITION", r"a\x09b\x0a" + "\t3", "c\t-"]


@pytest.mark.parametrize("width", [None, 80])
def test_headers_can_be_left_out(width: int | None) -> None:
    """Without rows nothing is printed then; with headers they stand alone."""
    output = Printed(width)
    print_table(output, ("A", "B"), [], has_headers=False)
    assert output.text == ""
    print_table(output, ("A", "B"), [("x", 1)], has_headers=False)
    assert output.text.split() == ["x", "1"]

    alone = Printed(width)
    print_table(alone, ("A", "B"), [])
    assert alone.text.split() == ["A", "B"]


def test_numbers_have_units_for_people_and_headers_have_them_for_programs() -> None:
    """The numbers in a pipe are as they were measured."""
    assert printed(120) == [
        "NODE-ID  ADDRESS                    RACK      RTT  NOTE",
        "      1  kafka-1.example.com:9092   -      520 µs  it leads 12 partitions, and follows 24",
        "     10  kafka-10.example.com:9092  -     12.5 ms  -",
    ]
    assert printed(None)[:2] == [
        "NODE-ID\tADDRESS\tRACK\tRTT-MS\tNOTE",
        "1\tkafka-1.example.com:9092\t-\t0.52\tit leads 12 partitions, and follows 24",
    ]


def test_on_a_narrow_terminal_columns_make_room_and_then_text_is_wrapped() -> None:
    """Those without a value first; what is left out is named below."""
    assert printed(88)[0] == "NODE-ID  ADDRESS                        RTT  NOTE"
    assert printed(64) == [
        "NODE-ID  ADDRESS                    NOTE",
        "      1  kafka-1.example.com:9092   it leads 12 partitions, and",
        "                                    follows 24",
        "     10  kafka-10.example.com:9092  -",
        "2 columns left out (--wide shows all): RACK, RTT",
    ]


def test_where_even_that_does_not_fit_rows_are_blocks() -> None:
    """There is room for every column that has a value."""
    assert printed(40)[:6] == [
        "NODE-ID  1",
        "ADDRESS  kafka-1.example.com:9092",
        "RTT      520 µs",
        "NOTE     it leads 12 partitions, and",
        "         follows 24",
        "",
    ]


def test_wide_shows_all_columns() -> None:
    """In blocks if need be: no line is wider than the terminal."""
    assert printed(90, is_wide=True)[0].split() == ["NODE-ID", "ADDRESS", "RACK", "RTT", "NOTE"]
    assert "RACK     -" in printed(40, is_wide=True)
    assert printed(None, is_wide=True) == printed(None)


def test_lists_of_numbers_are_text() -> None:
    """As those of replicas; thousands are set apart in numbers."""
    output = Printed(80)

    print_table(output, ("REPLICAS", "BYTES"), [("1,2,3", "1,234"), ("2,1", "56,789.5")])

    assert output.lines == [
        "REPLICAS     BYTES",
        "1,2,3        1,234",
        "2,1       56,789.5",
    ]


def test_headers_that_are_left_out_take_no_room() -> None:
    """Columns are as wide as their cells."""
    assert printed(120, has_headers=False)[1] == "10  kafka-10.example.com:9092  -  12.5 ms  -"


def test_cells_have_colours_by_what_they_say() -> None:
    """Only the text has them, not the blanks beside it."""
    output = Printed(80, has_colour=True)

    print_table(output, (TableColumn("STATUS", colours={"ok": GREEN}), "B"), [("ok", 1), ("no", 2)])

    assert output.lines[1:] == ["\x1b[32mok\x1b[0m      1", "no      2"]


@pytest.mark.thorough
@given(
    rows=st.lists(st.lists(CELLS, min_size=5, max_size=5), max_size=6),
    width=st.integers(24, 130),
    is_wide=st.booleans(),
)
def test_no_line_of_a_table_is_wider_than_the_terminal(
    rows: list[list[object]], *, width: int, is_wide: bool
) -> None:
    """Whatever is in its cells: wide characters, accents, escapes, words without an end."""
    output = Printed(width)
    output.is_wide = is_wide

    print_table(output, BROKERS, rows)

    assert max(map(columns_of, output.lines), default=0) <= width


@given(text=st.text("ab 注\U0001f600", min_size=1, max_size=200), width=st.integers(24, 60))
def test_what_is_wrapped_is_whole(text: str, width: int) -> None:
    """Nothing but blanks gets lost between the lines of a cell."""
    output = Printed(width)

    print_table(output, ("A", "B"), [(text, 1)], has_headers=False)

    shown = "".join("".join(output.lines).split())
    assert sorted(shown.replace("1", "", 1)) == sorted("".join(harmless(text).split()))


@pytest.mark.thorough
def test_long_tables_look_the_same_to_their_end() -> None:
    """Beyond a thousand rows those that fit are drawn another way, and nobody sees it."""
    output = Printed(50)
    rows = [(number, "注文" if number % 2 else "word " * (number % 7)) for number in range(2400)]

    print_table(output, ("NUMBER", "TEXT"), rows)

    starts = {line[:8].strip(): line for line in output.lines}
    for number in (0, 7, 1, 6):
        late = starts[str(number + 14 * 150)]
        assert starts[str(number)][8:] == late[8:]
    assert len(output.lines) == 2401
