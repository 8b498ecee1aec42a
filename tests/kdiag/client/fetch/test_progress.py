"""Partitions that make no progress are reported, with the reason."""

import pytest

from kdiag.client.fetch.notices import FetchNotices
from kdiag.client.fetch.position import FetchPosition, NoticeKind, PartitionKey
from kdiag.client.fetch.progress import AGAIN_NS, PATIENCE_NS, ProgressWatch
from kdiag.clock import NS_PER_S, ManualClock

KEY = PartitionKey("orders", 0)
EMPTY = "broker 1 answers without records"


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still."""
    return ManualClock()


@pytest.fixture
def notices(clock: ManualClock) -> FetchNotices:
    """The notices of the watch."""
    return FetchNotices(clock)


@pytest.fixture
def watch(clock: ManualClock, notices: FetchNotices) -> ProgressWatch:
    """A watch over readers of committed records."""
    return ProgressWatch(clock, notices, is_committed_only=True)


@pytest.fixture
def position() -> FetchPosition:
    """A position 80 offsets before the end."""
    return FetchPosition(
        key=KEY, offset=20, leader_id=1, high_watermark=100, last_stable_offset=100
    )


def texts_after(
    clock: ManualClock,
    notices: FetchNotices,
    watch: ProgressWatch,
    position: FetchPosition,
    wait_ns: int,
) -> list[str]:
    """Return what is reported while the watch looks every second."""
    texts = []
    for _ in range(wait_ns // NS_PER_S + 1):
        watch.look([position])
        texts += [each.text for each in notices.pop()]
        clock.advance(NS_PER_S)
    return texts


def test_a_partition_without_progress_is_reported_after_five_seconds_and_each_minute(
    clock: ManualClock, notices: FetchNotices, watch: ProgressWatch, position: FetchPosition
) -> None:
    """With how far the end is, and what the broker answers."""
    clock.advance(NS_PER_S)
    watch.look([position])
    watch.explain(KEY, EMPTY)
    assert texts_after(clock, notices, watch, position, PATIENCE_NS - NS_PER_S) == []
    assert texts_after(clock, notices, watch, position, AGAIN_NS) == [
        f"orders[0@20]: nothing read for 5 s, 80 offsets before the end: {EMPTY}",
        f"orders[0@20]: nothing read for 65 s, 80 offsets before the end: {EMPTY}",
    ]


def test_the_end_of_a_stall_is_reported(
    clock: ManualClock, notices: FetchNotices, watch: ProgressWatch, position: FetchPosition
) -> None:
    """With the first record that comes."""
    texts_after(clock, notices, watch, position, 2 * PATIENCE_NS)
    position.offset = 40
    watch.look([position])
    assert [(each.kind, each.text) for each in notices.pop()] == [
        (NoticeKind.RECOVERED, "orders[0]: read again")
    ]


def test_what_has_nothing_to_read_is_not_stalled(
    clock: ManualClock, notices: FetchNotices, watch: ProgressWatch, position: FetchPosition
) -> None:
    """At the end of the log, at its own stop, and before an open transaction."""
    position.offset = 100
    assert texts_after(clock, notices, watch, position, 2 * PATIENCE_NS) == []
    position.offset = position.stop = 40
    assert texts_after(clock, notices, watch, position, 2 * PATIENCE_NS) == []
    position.stop = 100
    position.last_stable_offset = 40
    assert texts_after(clock, notices, watch, position, 2 * PATIENCE_NS) == []


def test_progress_within_five_seconds_is_enough(
    clock: ManualClock, notices: FetchNotices, watch: ProgressWatch, position: FetchPosition
) -> None:
    """However slow it is."""
    for _ in range(9):
        assert texts_after(clock, notices, watch, position, PATIENCE_NS - 2 * NS_PER_S) == []
        position.offset += 1


def test_a_fetch_that_is_never_answered_is_named_even_at_the_end_of_a_log(
    clock: ManualClock, notices: FetchNotices, watch: ProgressWatch, position: FetchPosition
) -> None:
    """The log may go on: the broker alone knows."""
    position.offset = 100
    watch.asked(1)
    (text,) = texts_after(clock, notices, watch, position, 3 * PATIENCE_NS)
    assert text.endswith(": broker 1 does not answer the Fetch")
    watch.answered(1)
    assert texts_after(clock, notices, watch, position, AGAIN_NS) == ["orders[0]: read again"]


def test_a_reader_that_does_not_poll_is_no_stall(
    clock: ManualClock, notices: FetchNotices, watch: ProgressWatch, position: FetchPosition
) -> None:
    """Its output may wait for a person, as `less` does."""
    watch.look([position])
    watch.asked(1)
    clock.advance(AGAIN_NS)
    assert texts_after(clock, notices, watch, position, PATIENCE_NS - 2 * NS_PER_S) == []


def test_a_partition_whose_turn_has_not_come_is_reported_late(
    clock: ManualClock, notices: FetchNotices, watch: ProgressWatch, position: FetchPosition
) -> None:
    """The answers are full of others, which brokers serve in turns."""
    clock.advance(NS_PER_S)
    watch.look([position])
    watch.explain(KEY, None)
    assert texts_after(clock, notices, watch, position, AGAIN_NS - NS_PER_S) == []
    (text,) = texts_after(clock, notices, watch, position, 2 * NS_PER_S)
    assert text.endswith("the answers are full of other partitions")


def test_a_partition_that_no_answer_has_is_reported(
    clock: ManualClock, notices: FetchNotices, watch: ProgressWatch, position: FetchPosition
) -> None:
    """Even if nothing is known of its end."""
    position.high_watermark = position.last_stable_offset = -1
    assert texts_after(clock, notices, watch, position, 2 * PATIENCE_NS) == [
        "orders[0@20]: nothing read for 5 s: no answer has mentioned it"
    ]


@pytest.mark.parametrize("subject", [KEY, 1], ids=["partition", "broker"])
def test_a_trouble_that_was_reported_is_repeated_after_a_minute_alone(
    clock: ManualClock,
    notices: FetchNotices,
    watch: ProgressWatch,
    position: FetchPosition,
    subject: PartitionKey | int,
) -> None:
    """Five seconds later nobody has forgotten it."""
    clock.advance(NS_PER_S)
    watch.look([position])
    watch.explain(KEY, "no leader")
    notices.begin_trouble(subject, NoticeKind.NO_LEADER, "no leader")
    assert texts_after(clock, notices, watch, position, AGAIN_NS + NS_PER_S)[1:] == [
        "orders[0@20]: nothing read for 60 s, 80 offsets before the end: no leader",
    ]
