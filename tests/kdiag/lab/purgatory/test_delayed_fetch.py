from operator import attrgetter
from typing import Final

import pytest

from kdiag.clock import NS_PER_MS, ManualClock
from kdiag.lab.log.log_offset import LogOffsetMetadata, LogOffsetSnapshot
from kdiag.lab.purgatory.delayed_fetch import (
    DelayedFetch,
    EpochEnd,
    FetchBound,
    FetchParams,
    FetchPartitionStatus,
)
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.timer.system_timer import SystemTimer
from tiers.cases import for_each

FIRST = TopicPartitionOperationKey("orders", 0)
SECOND = TopicPartitionOperationKey("orders", 1)
START = LogOffsetMetadata(500, 0, 5_000)
MUCH = 1 << 20
EPOCH = 10
LOG_END: Final[FetchBound] = attrgetter("log_end_offset")
HIGH_WATERMARK: Final[FetchBound] = attrgetter("high_watermark")
TXN_COMMITTED: Final[FetchBound] = attrgetter("last_stable_offset")


class Ends:
    """A partition whose log has given ends.

    Attributes:
        end: of the log.
        high_watermark, last_stable: the other ends; the log's unless told.
        epoch_end: where an epoch ends.
        asked: the leader epochs that were asked with, and whether only a leader may answer.
    """

    def __init__(self, end: LogOffsetMetadata | None) -> None:
        self.end = self.high_watermark = self.last_stable = end
        self.epoch_end: EpochEnd | None = None
        self.asked: list[tuple[int, bool]] = []

    def fetch_offset_snapshot(
        self, leader_epoch: int, *, is_only_from_leader: bool
    ) -> LogOffsetSnapshot | None:
        """Return the ends, if there are some."""
        self.asked.append((leader_epoch, is_only_from_leader))
        if self.end is None or self.high_watermark is None or self.last_stable is None:
            return None
        return LogOffsetSnapshot(0, self.end, self.high_watermark, self.last_stable)

    def last_offset_for_leader_epoch(self, leader_epoch: int, epoch: int) -> EpochEnd | None:
        """Return where the epoch ends."""
        assert (leader_epoch, epoch) == (EPOCH, EPOCH - 1)
        return self.epoch_end


class FetchStory:
    """A fetch of one or two partitions from offset 500.

    Attributes:
        partitions: those that there are.
        answers: how often it was answered.
        operation: the operation.
    """

    def __init__(
        self,
        *ends: Ends,
        min_bytes: int = 1,
        max_bytes: int = MUCH,
        bound: FetchBound = HIGH_WATERMARK,
        last_fetched_epoch: int = -1,
        start: LogOffsetMetadata | None = START,
    ) -> None:
        self.partitions = dict(zip((FIRST, SECOND), ends, strict=False))
        self.answers = 0
        status = FetchPartitionStatus(start, max_bytes, EPOCH, last_fetched_epoch)
        replica_id = 1 if bound is LOG_END else -1
        params = FetchParams(replica_id, 500 * NS_PER_MS, min_bytes, MUCH, bound)
        self.operation = DelayedFetch(
            params, dict.fromkeys(self.partitions, status), self.partitions.get, self._respond
        )

    def is_answered(self) -> bool:
        """Try it, and return whether it is answered."""
        is_now = self.operation.try_complete()
        assert is_now == self.operation.is_completed == bool(self.answers)
        return is_now

    def _respond(self) -> None:
        self.answers += 1


def at(offset: int, position: int, segment: int = 0) -> LogOffsetMetadata:
    """Return an offset with its place."""
    return LogOffsetMetadata(offset, segment, position)


def test_it_waits_until_there_are_enough_bytes_in_all_partitions_together() -> None:
    """Case G, which min.bytes decides."""
    first, second = Ends(at(503, 5_250)), Ends(START)
    story = FetchStory(first, second, min_bytes=500)
    assert not story.is_answered()
    second.high_watermark = at(501, 5_249)
    assert not story.is_answered()
    second.high_watermark = at(501, 5_250)
    assert story.is_answered()


def test_a_partition_counts_for_no_more_than_is_wanted_of_it() -> None:
    """Else one would be waited for no longer, though its bytes do not fit the response."""
    story = FetchStory(Ends(at(600, 10_000)), Ends(START), min_bytes=500, max_bytes=400)
    assert not story.is_answered()


def test_no_bytes_are_enough_when_none_are_asked_for() -> None:
    """min.bytes 0 never waits."""
    assert FetchStory(Ends(START), min_bytes=0).is_answered()


@pytest.mark.parametrize(
    ("bound", "answered"),
    [
        (LOG_END, True),
        (HIGH_WATERMARK, False),
        (TXN_COMMITTED, False),
    ],
)
def test_records_count_once_they_may_be_read(bound: FetchBound, *, answered: bool) -> None:
    """A follower reads to the log's end, a consumer to the high watermark."""
    ends = Ends(at(510, 6_000))
    ends.high_watermark = ends.last_stable = START
    assert FetchStory(ends, bound=bound).is_answered() is answered


def test_an_open_transaction_holds_up_those_who_read_committed_records_only() -> None:
    """The others go on."""
    ends = Ends(at(510, 6_000))
    ends.last_stable = START
    assert not FetchStory(ends, bound=TXN_COMMITTED).is_answered()
    assert FetchStory(ends, bound=HIGH_WATERMARK).is_answered()


def test_a_partition_that_is_not_here_is_answered_at_once() -> None:
    """Cases A to D: its client has to go elsewhere."""
    story = FetchStory(Ends(START), Ends(START), min_bytes=MUCH)
    assert not story.is_answered()
    del story.partitions[SECOND]
    assert story.is_answered()


def test_a_fenced_epoch_is_answered_at_once() -> None:
    """Case E: the partition itself says so; a follower asks leaders only."""
    ends = Ends(None)
    assert FetchStory(ends, bound=LOG_END).is_answered()
    assert FetchStory(ends).is_answered()
    assert ends.asked == [(EPOCH, True), (EPOCH, False)]


def test_an_older_segment_is_answered_at_once() -> None:
    """Case F: what is left of it is not counted."""
    assert FetchStory(Ends(at(503, 10, segment=502)), min_bytes=MUCH).is_answered()


def test_a_segment_that_was_just_rolled_is_no_older_one() -> None:
    """The same offset is at the end of the old one and at the beginning of the new one."""
    assert not FetchStory(Ends(at(500, 0, segment=500))).is_answered()


def test_a_truncated_log_is_answered_at_once() -> None:
    """Case F: the client is beyond its end."""
    assert FetchStory(Ends(at(400, 4_000)), min_bytes=MUCH).is_answered()


@pytest.mark.parametrize(("end_offset", "answered"), [(0, True), (600, False)])
def test_a_high_watermark_whose_place_is_not_known_counts_for_nothing(
    end_offset: int, *, answered: bool
) -> None:
    """But it says that the log was truncated."""
    ends = Ends(LogOffsetMetadata(end_offset))
    assert FetchStory(ends).is_answered() is answered


@for_each(
    ("epoch_end", "answered"),
    [
        (EpochEnd(EPOCH - 1, 499), True),
        (EpochEnd(EPOCH - 2, 600), True),
        (None, True),
        (EpochEnd(EPOCH - 1, 500), False),
    ],
)
def test_a_follower_that_has_diverged_is_answered_at_once(
    epoch_end: EpochEnd | None, *, answered: bool
) -> None:
    """Case H: it has to truncate its log, to where its last epoch ends on the leader."""
    ends = Ends(START)
    ends.epoch_end = epoch_end
    story = FetchStory(ends, bound=LOG_END, last_fetched_epoch=EPOCH - 1)
    assert story.is_answered() is answered


def test_a_partition_that_could_not_be_read_before_is_not_waited_for() -> None:
    """Its error is answered with the others, when they are."""
    story = FetchStory(Ends(at(503, 5_250)), start=None)
    assert not story.is_answered()


def test_when_its_time_is_up_it_is_answered_with_what_there_is() -> None:
    """Once, though bytes come at the same time."""
    clock = ManualClock()
    timer = SystemTimer(clock)
    story = FetchStory(Ends(START))
    assert not story.is_answered()
    story.operation.expire_after(timer)
    clock.advance(500 * NS_PER_MS)
    timer.advance()
    story.partitions[FIRST].high_watermark = at(501, 5_100)
    assert not story.operation.try_complete()
    assert story.answers == 1
    assert story.operation.is_expired
    assert "1 partitions" in repr(story.operation)
