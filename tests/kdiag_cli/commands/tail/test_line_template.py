from kdiag.wire.records.record import Record
from kdiag_cli.commands.tail.line_template import (
    LineTemplate,
    leader_epoch,
    numbers,
    offset,
    partition,
    timestamp,
    topic,
)
from made_values.record_run_maker import NOW_MS, run_of, valued


def test_a_line_is_its_parts_in_turn() -> None:
    """Texts, what is the same for all records, and what each has."""
    template = LineTemplate(
        [topic, b"[", partition, b"]@", offset, b" 100% ", timestamp, b" ", leader_epoch, b"\n"]
    )
    run = run_of([Record(8, 5), Record(9, -1)], "orders", 3)
    assert template.lines(run) == b"orders[3]@8 100% 5 5\norders[3]@9 100% -1 5\n"


def test_a_line_may_hold_nothing_of_its_record() -> None:
    """Then there is one for each all the same."""
    assert LineTemplate([b"a", b"b\n"]).lines(valued(b"1", b"2")) == b"ab\nab\n"
    assert LineTemplate([]).lines(valued(b"1", b"2")) == b""


def test_one_column_with_a_line_feed_is_joined() -> None:
    """The last line ends as the others do."""
    template = LineTemplate([offset, b"\n"])
    assert template.lines(valued(b"", b"", b"")) == b"7\n8\n9\n"


def test_one_column_with_nothing_behind_it_stands_alone() -> None:
    """Lines are the business of whoever writes the template."""
    assert LineTemplate([offset]).lines(valued(b"", b"")) == b"78"
    assert LineTemplate([b"%", offset]).lines(valued(b"", b"")) == b"%7%8"


def test_numbers_are_decimal() -> None:
    """The smallest and the largest, too."""
    assert numbers([0, -1, NOW_MS, (1 << 63) - 1]) == [
        b"0",
        b"-1",
        b"1700000000123",
        b"9223372036854775807",
    ]
