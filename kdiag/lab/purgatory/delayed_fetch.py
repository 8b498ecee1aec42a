"""A fetch request that waits until there are enough bytes.

    orders-0   from 100, at most 1 MiB    the log ends at 103, 250 bytes further: 250
    orders-1   from 7                     the log ends at 7: 0
    min.bytes 500                         waits
    an append to orders-1: 300 bytes      250 + 300 >= 500: it is answered

Bytes are counted by positions in the segment; nothing is read before it is answered. It is answered
at once, with whatever there is, if a partition

    A, B, C, D   is not led from here, not here, not known, or offline
    E            is asked for by an older or newer leader epoch
    F            is asked for beyond its end (its log was truncated), or from an older segment,
                 whose bytes are not counted because there are surely enough
    H            has diverged from the log of the follower, which has to truncate its own

and, case G, if there are min.bytes together. The end is the log's end for a follower, the high
watermark for a consumer, the last stable offset for one that reads committed records only.

Source: Kafka's `DelayedFetch`, whose cases these are; KIP-595 (diverging epochs).
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

from kdiag.lab.log.log_offset import LogOffsetMetadata, LogOffsetSnapshot
from kdiag.lab.purgatory.delayed_operation import DelayedOperation
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey

NO_EPOCH: Final = -1
"""A leader epoch that a request does not state."""


FetchBound = Callable[[LogOffsetSnapshot], LogOffsetMetadata]
"""Returns the end up to which a fetch may read: one of those of a snapshot."""


class FetchParams(NamedTuple):
    """What a fetch asks of all its partitions.

    Attributes:
        replica_id: the follower that asks; -1 for a consumer.
        max_wait_ns: how long it may wait.
        min_bytes: how many bytes it waits for.
        max_bytes: how many it takes, beyond which only a first batch may reach.
        bound: how far it reads.
    """

    replica_id: int
    max_wait_ns: int
    min_bytes: int
    max_bytes: int
    bound: FetchBound

    @property
    def is_from_follower(self) -> bool:
        """Return whether a replica asks."""
        return self.replica_id >= 0


class FetchPartitionStatus(NamedTuple):
    """What a fetch asks of one partition.

    Attributes:
        start: the first offset that is wanted, and its place; None if nobody has found it, as for a
            partition that has failed before.
        max_bytes: the most that is wanted of the partition.
        current_leader_epoch: what the client knows; -1 if it does not say.
        last_fetched_epoch: that of the record before; -1 if it does not say.
    """

    start: LogOffsetMetadata | None
    max_bytes: int
    current_leader_epoch: int = NO_EPOCH
    last_fetched_epoch: int = NO_EPOCH


class EpochEnd(NamedTuple):
    """Where a leader epoch ends.

    Attributes:
        epoch: the largest epoch of the log that is not above the one asked about.
        end_offset: the first offset after it.
    """

    epoch: int
    end_offset: int


class FetchedPartition(Protocol):
    """What a delayed fetch asks of a partition, each time anew by its name."""

    def fetch_offset_snapshot(
        self, leader_epoch: int, *, is_only_from_leader: bool
    ) -> LogOffsetSnapshot | None:
        """Return the ends of its log; None if it cannot be fetched from here (cases A to E)."""
        ...

    def last_offset_for_leader_epoch(self, leader_epoch: int, epoch: int) -> EpochEnd | None:
        """Return where an epoch ends; None if that cannot be told."""
        ...


FindPartition = Callable[[TopicPartitionOperationKey], FetchedPartition | None]
"""Returns a partition by its name; None if it is not here."""


class DelayedFetch(DelayedOperation):
    """A fetch request that waits for bytes.

    Attributes:
        params: what is asked of all partitions.
        is_expired: whether it was its timeout that completed it.
    """

    def __init__(
        self,
        params: FetchParams,
        statuses: Mapping[TopicPartitionOperationKey, FetchPartitionStatus],
        find_partition: FindPartition,
        respond: Callable[[], None],
    ) -> None:
        """Begin to wait.

        Args:
            params: what is asked of all partitions.
            statuses: what is asked of each.
            find_partition: finds a partition.
            respond: reads whatever there is, and sends it.
        """
        super().__init__(params.max_wait_ns)
        self.params = params
        self.is_expired = False
        self._statuses = statuses
        self._find_partition = find_partition
        self._respond = respond

    def __repr__(self) -> str:
        return (
            f"<DelayedFetch of {len(self._statuses)} partitions for {self.params.min_bytes} bytes>"
        )

    def try_complete(self) -> bool:
        """Complete it if there are enough bytes, or if waiting makes no sense any more."""
        accumulated = 0
        for name, status in self._statuses.items():
            if status.start is None:
                continue
            partition = self._find_partition(name)
            available = None if partition is None else self._available(partition, status)
            if available is None:
                return self.force_complete()
            accumulated += available
        return accumulated >= self.params.min_bytes and self.force_complete()

    def on_complete(self) -> None:
        """Answer the request with whatever there is."""
        self._respond()

    def on_expiration(self) -> None:
        """Record that it was answered for want of time."""
        self.is_expired = True

    def _available(self, partition: FetchedPartition, status: FetchPartitionStatus) -> int | None:
        """Return how many bytes a partition has for the fetch; None to answer at once."""
        snapshot = partition.fetch_offset_snapshot(
            status.current_leader_epoch, is_only_from_leader=self.params.is_from_follower
        )
        if snapshot is None:
            return None
        assert status.start is not None
        available = _bytes_until(self.params.bound(snapshot), status)
        return None if self._has_diverged(partition, status) else available

    def _has_diverged(self, partition: FetchedPartition, status: FetchPartitionStatus) -> bool:
        """Return whether the follower has to truncate its log (case H)."""
        if status.last_fetched_epoch == NO_EPOCH:
            return False
        end = partition.last_offset_for_leader_epoch(
            status.current_leader_epoch, status.last_fetched_epoch
        )
        assert status.start is not None
        return (
            end is None
            or end.epoch < status.last_fetched_epoch
            or end.end_offset < status.start.message_offset
        )


def _bytes_until(end: LogOffsetMetadata, status: FetchPartitionStatus) -> int | None:
    """Return the bytes up to the end; None if they are in another segment, or beyond it (case F).

    Equal offsets are no bytes, wherever they seem to be: after a roll the same offset may be known
    at the end of the old segment or at the beginning of the new one.
    """
    start = status.start
    assert start is not None
    if start.message_offset > end.message_offset:
        return None
    if start.message_offset == end.message_offset:
        return 0
    if start.is_on_older_segment(end):
        return None
    if not start.is_on_same_segment(end):
        return 0
    return min(end.relative_position - start.relative_position, status.max_bytes)
