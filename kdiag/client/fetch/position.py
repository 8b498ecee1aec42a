"""Fetch positions: how far each partition is read, the batches read there, and notices about it.

Source: Kafka's `SubscriptionState.FetchPosition`, `CompletedFetch`.
"""

from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.schema import ZERO_UUID

OPEN_END: Final = (1 << 63) - 1
"""The stop of a reader that never ends."""

UNKNOWN_EPOCH: Final = -1


class PartitionKey(NamedTuple):
    """A partition of a topic by name."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}]"


class FetchPosition(msgspec.Struct, kw_only=True, eq=False):
    """How far one partition is read.

    Attributes:
        key: the partition.
        offset: the next to read.
        stop: the first offset not to read.
        topic_id: of its topic; zeros where brokers have no topic ids.
        leader_id: the broker to fetch from; None while it is unknown.
        leader_epoch: the epoch of the leader, -1 if unknown.
        fetched_epoch: the leader epoch of the last batch read, -1 before the first.
        replica_id: the follower that the leader prefers us to fetch from (KIP-392).
        high_watermark, last_stable_offset, log_start_offset: the leader's latest; -1 before.
        denied: whether reading it is forbidden at the moment.
        boundary: the offset behind the last batch that was read, where the next begins at the
            earliest; -1 if the position was not reached by reading.
        held_at: the first offset that could not be read and was passed over: no commit and no
            resume position may pass it; None if there is none.
        least_bytes: how many bytes of it an answer must be able to hold; 0 for the usual.
    """

    key: PartitionKey
    offset: int
    stop: int = OPEN_END
    topic_id: bytes = ZERO_UUID
    leader_id: int | None = None
    leader_epoch: int = UNKNOWN_EPOCH
    fetched_epoch: int = UNKNOWN_EPOCH
    replica_id: int | None = None
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    denied: bool = False
    boundary: int = -1
    held_at: int | None = None
    least_bytes: int = 0

    @property
    def resume_offset(self) -> int:
        """Return where reading may be resumed without losing a record."""
        return self.offset if self.held_at is None else min(self.offset, self.held_at)

    def move_to(self, offset: int) -> None:
        """Read on at an offset that was not reached by reading."""
        self.offset = offset
        self.fetched_epoch = UNKNOWN_EPOCH
        self.boundary = -1

    def hold(self, offset: int) -> None:
        """Let no commit and no resume position pass an offset that could not be read."""
        self.held_at = offset if self.held_at is None else min(self.held_at, offset)

    def end(self, *, is_committed_only: bool) -> int:
        """Return where reading has to wait, as far as the leader has said; -1 if it has not."""
        end = self.last_stable_offset if is_committed_only else self.high_watermark
        return min(end, self.stop)

    @property
    def is_done(self) -> bool:
        """Return whether all wanted offsets have been read."""
        return self.offset >= self.stop

    @property
    def node_id(self) -> int | None:
        """Return the broker to fetch from."""
        return self.leader_id if self.replica_id is None else self.replica_id


class FetchedBatch(msgspec.Struct, gc=False, eq=False):
    """A batch that was read, and which of its records are wanted.

    Attributes:
        key: the partition.
        batch: the records, not decompressed yet.
        start, stop: records before `start` and from `stop` on are not wanted.
        is_aborted: whether its transaction was aborted; only known with `read_committed`.
    """

    key: PartitionKey
    batch: RecordBatch
    start: int
    stop: int
    is_aborted: bool = False


class NoticeKind(StrEnum):
    """The events of a partition that is being read."""

    LEADER_MOVED = "leader moved"
    NO_LEADER = "no leader"
    REFUSED = "refused"
    DISCONNECTED = "disconnected"
    RECOVERED = "recovered"
    TRUNCATED = "truncated"
    REMOVED = "removed"
    RECREATED = "recreated"
    ADDED = "added"
    DELETED = "deleted"
    DENIED = "denied"
    CORRUPT = "corrupt"
    HELD_BACK = "held back"
    BEYOND_END = "beyond the end"
    STALLED = "stalled"
    GIVEN = "given"
    TAKEN = "taken"
    LOST = "lost"
    NOT_COMMITTED = "not committed"


class Notice(NamedTuple):
    """An event of partitions that are being read.

    Attributes:
        kind: the event.
        text: one line, with offsets where records are missing.
    """

    kind: NoticeKind
    text: str
