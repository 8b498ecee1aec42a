from pathlib import Path

import pytest
import typer

from kdiag.errors import ConfigError
from kdiag.probe.tail.offset_spec import At, OffsetSpec, Position
from kdiag.probe.tail.topic_selection import TopicSelector
from kdiag_cli.commands.tail.options import (
    FilterOptions,
    PrintOptions,
    TailOptions,
    check,
    filter_of,
    offsets_of,
    selectors_of,
)
from tiers.cases import for_each

NOW_MS = 1_800_000_000_000


@for_each(
    ("options", "why"),
    [
        (TailOptions([]), "give at least one"),
        (TailOptions(["t"], resume_file=Path("no/f")), "there is no folder no"),
        (TailOptions(["t"], follows=True, stops_at_end=True), "--follow and --exit"),
        (
            TailOptions(["t"], is_committed_only=False, filters=FilterOptions(shows_aborted=True)),
            "do brokers say what was aborted",
        ),
        (TailOptions(["t"], printing=PrintOptions("parquet")), "--out FILE together"),
        (TailOptions(["t"], printing=PrintOptions("json", Path("f"))), "--out FILE together"),
        (
            TailOptions(["t"], printing=PrintOptions("json", format="%s")),
            "it goes with text, not json",
        ),
    ],
)
def test_contradictions_are_refused(options: TailOptions, why: str) -> None:
    """Before anything is asked of a broker."""
    with pytest.raises(typer.BadParameter, match=why):
        check(options)
    check(TailOptions(["t"]))


def test_partitions_count_for_topics_that_have_none_of_their_own() -> None:
    """`-p` and `topic:...` can stand together."""
    assert selectors_of(TailOptions(["a", "b:7"], "0,2-3")) == [
        TopicSelector("a", {0: None, 2: None, 3: None}),
        TopicSelector("b", {7: None}),
    ]
    assert selectors_of(TailOptions(["a"])) == [TopicSelector("a", None)]


def test_until_is_a_stop() -> None:
    """There can be one only."""
    stop = Position(At.TIMESTAMP, NOW_MS - 3_600_000)
    until_ns = stop.value * 1_000_000
    assert offsets_of(TailOptions(["a"], offsets=["42"], until_ns=until_ns), NOW_MS) == OffsetSpec(
        Position(At.OFFSET, 42), stop
    )
    with pytest.raises(ConfigError):
        offsets_of(TailOptions(["a"], offsets=["0:100"], until_ns=until_ns), NOW_MS)


def test_a_moment_to_come_is_compared_with_each_record() -> None:
    """One that has passed is an offset."""
    for value, before_ms in [(NOW_MS + 1, NOW_MS + 1), (NOW_MS, None)]:
        offsets = OffsetSpec(stop=Position(At.TIMESTAMP, value))
        assert filter_of(FilterOptions(), offsets, NOW_MS).before_ms == before_ms
    assert (
        filter_of(FilterOptions(), OffsetSpec(stop=Position(At.OFFSET, 9**15)), 0).before_ms is None
    )


def test_what_was_said_of_records_becomes_a_filter() -> None:
    """Texts become the bytes that records hold."""
    chosen = FilterOptions("a+", ["k", "ü"], ["h=1"], shows_aborted=True, shows_control=True)
    given = filter_of(chosen, OffsetSpec(), NOW_MS)
    assert given.pattern is not None
    assert given.keys == {b"k", "ü".encode()}
    assert given.headers == [(b"h", b"1")]
    assert given.shows_aborted
    assert given.shows_control
