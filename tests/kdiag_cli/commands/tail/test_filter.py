import re

import pytest

from kdiag.errors import ConfigError
from kdiag.wire.records.record import Record
from kdiag_cli.commands.tail.filter import RecordFilter, parse_header, parse_pattern
from made_values.record_run_maker import marker, run_of
from tiers.cases import for_each

RECORDS = [
    Record(0, 10, b"user-7", b"paid", ((b"region", b"eu"),)),
    Record(1, 20, b"user-8", b"refused", ((b"region", b"us"), (b"trace", None))),
    Record(2, 30, None, "größer".encode()),
    Record(3, 40, b"user-7", None, ((b"region", b"eu"), (b"region", b"us"))),
    Record(4, 50, b"\xff", b"\xffuser-7"),
]


def chosen(given: RecordFilter) -> list[int]:
    """Return the offsets of the records that a filter lets through, of few and of many."""
    offsets = given.choose(run_of(RECORDS)).columns.offsets()
    many = run_of(
        [
            Record(n * 5 + each.offset, each.timestamp, each.key, each.value, each.headers)
            for n in range(60)
            for each in RECORDS
        ]
    )
    assert given.choose(many).columns.offsets() == [
        n * 5 + each for n in range(60) for each in offsets
    ]
    return offsets


@for_each(
    ("given", "offsets"),
    [
        (RecordFilter(), [0, 1, 2, 3, 4]),
        (RecordFilter(pattern=re.compile("paid|refused")), [0, 1]),
        (RecordFilter(pattern=re.compile("^user-7$")), [0, 3]),
        (RecordFilter(pattern=re.compile("gr..er$")), [2]),
        (RecordFilter(keys=frozenset({b"user-7"})), [0, 3]),
        (RecordFilter(keys=frozenset({b"user-8", b"\xff"})), [1, 4]),
        (RecordFilter(headers=[(b"region", b"us")]), [1, 3]),
        (RecordFilter(headers=[(b"region", b"us"), (b"trace", None)]), [1]),
        (RecordFilter(before_ms=30), [0, 1]),
        (RecordFilter(before_ms=45, keys=frozenset({b"user-7"}), pattern=re.compile("paid")), [0]),
    ],
)
def test_a_record_must_be_all_that_is_asked_for(given: RecordFilter, offsets: list[int]) -> None:
    """Key, header, content and time."""
    assert chosen(given) == offsets


def test_aborted_and_control_records_are_shown_when_asked_for() -> None:
    """Neither is, without being asked for."""
    aborted = run_of(RECORDS, is_aborted=True)
    for run, wanting in [
        (aborted, RecordFilter(shows_aborted=True)),
        (marker(), RecordFilter(shows_control=True)),
    ]:
        assert len(RecordFilter().choose(run).columns) == 0
        assert wanting.choose(run) == run
        assert RecordFilter().choose(run).next_offset == run.next_offset


def test_a_filter_that_takes_all_says_so() -> None:
    """Then keys need not be looked at."""
    assert RecordFilter(shows_aborted=True).takes_all
    assert not RecordFilter(keys=frozenset({b""})).takes_all


def test_a_pattern_must_be_a_regular_expression() -> None:
    """What is wrong with it is told."""
    assert parse_pattern(None) is None
    pattern = parse_pattern("a+")
    assert pattern is not None
    assert pattern.pattern == "a+"
    with pytest.raises(ConfigError, match=r"--grep.*unterminated"):
        parse_pattern("(")


def test_a_header_may_be_asked_for_with_or_without_a_value() -> None:
    """The first equals sign ends its key."""
    assert parse_header("a=b=c") == (b"a", b"b=c")
    assert parse_header("a=") == (b"a", b"")
    assert parse_header("a") == (b"a", None)
