"""The last N visible records of a whole topic, over all its partitions, in time order.

Offsets do not count records: some belong to markers, to aborted transactions or to records that
were compacted away. So each partition is read backwards in growing steps until N visible records
are found or its beginning is reached; of all these the N newest are kept.

    partition 0   ..... a  .  c  M         M is a marker, . was compacted away
    partition 1   ..... b  d
    the last 3:         b, c, d            by time, then by partition and offset

Batches of the newest records are kept, except large ones: these are fetched again in their turn.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappush, heapreplace
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.fetcher import Fetcher
from kdiag.client.fetch.position import (
    FetchedBatch,
    FetchPosition,
    Notice,
    NoticeKind,
    PartitionKey,
)
from kdiag.client.fetch.session import FetchLimits
from kdiag.clock import NS_PER_S
from kdiag.errors import DecodeError
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import Record

_GROWTH: Final = 4
_LEAST_STEP: Final = 16
_POLL_NS: Final = NS_PER_S
_KEPT_BYTES: Final = 32 << 20
_LEAST_KEPT_BYTES: Final = 64 << 10

IsVisible = Callable[[FetchedBatch], bool]


class OffsetSpan(NamedTuple):
    """The offsets of a partition from `first` up to, not including, `end`."""

    first: int
    end: int


class _Home(NamedTuple):
    """The batch of some records.

    Attributes:
        batch: the batch; None if it is too large to be kept.
    """

    batch: RecordBatch | None
    is_aborted: bool


class _Candidate(NamedTuple):
    """A record, ordered as it is printed."""

    timestamp: int
    key: PartitionKey
    offset: int
    home: _Home


class _Run(NamedTuple):
    """Consecutive records of one batch, from `start` up to, not including, `stop`."""

    key: PartitionKey
    start: int
    stop: int
    home: _Home


class LastRecords:
    """Finds the last records.

    Attributes:
        notices: its own; those of the fetchers are not among them.
    """

    def __init__(
        self,
        client: ClusterClient,
        limits: FetchLimits,
        is_visible: IsVisible,
        count: int,
    ) -> None:
        """Search the last `count` records of batches that are visible."""
        self.notices: list[Notice] = []
        self._client = client
        self._limits = limits
        self._is_visible = is_visible
        self._count = count
        self._newest: list[_Candidate] = []
        self._found: dict[PartitionKey, int] = {}
        self._max_kept_bytes = max(_LEAST_KEPT_BYTES, _KEPT_BYTES // count)

    def search(
        self,
        positions: Mapping[PartitionKey, FetchPosition],
        spans: Mapping[PartitionKey, OffsetSpan],
    ) -> Iterator[Fetcher]:
        """Yield fetchers, each to be polled until it is done, and its batches to be added.

        Positions name the leaders to ask; they are not moved.
        """
        step = max(self._count, _LEAST_STEP)
        left = {key: span for key, span in spans.items() if span.end > span.first}
        while left:
            windows = {
                key: OffsetSpan(max(span.first, span.end - step), span.end)
                for key, span in left.items()
            }
            yield Fetcher(
                self._client,
                [_copy(positions[key], window) for key, window in windows.items()],
                self._limits,
            )
            left = {
                key: OffsetSpan(span.first, windows[key].first)
                for key, span in left.items()
                if windows[key].first > span.first and self._found.get(key, 0) < self._count
            }
            step *= _GROWTH

    def add(self, fetched: FetchedBatch) -> None:
        """Keep the records of a batch that are among the newest so far."""
        if not self._is_visible(fetched):
            return
        home = None
        for record in self._records(fetched):
            if not fetched.start <= record.offset < fetched.stop:
                continue
            self._found[fetched.key] = self._found.get(fetched.key, 0) + 1
            place = (record.timestamp, fetched.key, record.offset)
            is_full = len(self._newest) >= self._count
            if is_full and place < self._newest[0][:3]:
                continue
            home = home or self._home(fetched)
            put = heapreplace if is_full else heappush
            put(self._newest, _Candidate(*place, home))

    def _records(self, fetched: FetchedBatch) -> Sequence[Record]:
        """Return the records of a batch; none, with a notice, if they are damaged."""
        try:
            return fetched.batch.records()
        except DecodeError as error:
            text = f"{fetched.key}: unreadable up to offset {fetched.batch.last_offset}: {error}"
            self.notices.append(Notice(NoticeKind.CORRUPT, text))
            return ()

    def in_time_order(
        self, positions: Mapping[PartitionKey, FetchPosition]
    ) -> Iterator[list[FetchedBatch]]:
        """Yield the records in time order, consecutive ones of one batch together.

        Args:
            positions: name the leaders to ask for batches that were not kept; they are not moved.
        """
        one_batch = self._limits._replace(max_bytes=1, partition_max_bytes=1)
        again = Fetcher(self._client, [], one_batch)
        at_hand: list[FetchedBatch] = []
        for key, start, stop, home in self._runs():
            if home.batch is not None:
                at_hand.append(FetchedBatch(key, home.batch, start, stop, home.is_aborted))
                continue
            yield at_hand
            at_hand = []
            again.add([_copy(positions[key], OffsetSpan(start, stop))])
            while not again.is_done:
                yield again.poll(self._client.clock.monotonic_ns() + _POLL_NS)
                self.notices += again.take_notices()
        yield at_hand

    def _home(self, fetched: FetchedBatch) -> _Home:
        """Return a copy of a batch without the response around it, unless it is large."""
        batch = fetched.batch
        if batch.size_in_bytes > self._max_kept_bytes:
            return _Home(None, fetched.is_aborted)
        alone = bytes(batch.data[batch.start : batch.start + batch.size_in_bytes])
        return _Home(read_batches(alone).batches[0], fetched.is_aborted)

    def _runs(self) -> list[_Run]:
        """Return the newest records in time order."""
        runs: list[_Run] = []
        for _, key, offset, home in sorted(self._newest, key=lambda candidate: candidate[:3]):
            last = runs[-1] if runs else None
            if last is not None and last.home is home and last.stop == offset:
                runs[-1] = last._replace(stop=offset + 1)
            else:
                runs.append(_Run(key, offset, offset + 1, home))
        return runs


def _copy(position: FetchPosition, window: OffsetSpan) -> FetchPosition:
    """Return a position for a window of the same partition."""
    return FetchPosition(
        key=position.key,
        offset=window.first,
        stop=window.end,
        topic_id=position.topic_id,
        leader_id=position.leader_id,
        leader_epoch=position.leader_epoch,
    )
