"""The last N records of a whole topic that can be seen, over all its partitions, in time order.

Offsets do not count records: markers, aborted transactions and compaction take their share. Each
partition is therefore read backwards in growing steps until N visible records are found or its
beginning is reached; of all these the N newest are kept.

    partition 0   ..... a  .  c  M         M is a marker, . was compacted away
    partition 1   ..... b  d
    the last 3:         b, c, d            by time, then by partition and offset
"""

from collections.abc import Callable, Iterator, Mapping
from heapq import heappush, heapreplace
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch_position import FetchedBatch, FetchPosition, PartitionKey
from kdiag.client.fetch_session import FetchLimits
from kdiag.client.fetcher import Fetcher

_GROWTH: Final = 4
_LEAST_STEP: Final = 16

IsVisible = Callable[[FetchedBatch], bool]


class Span(NamedTuple):
    """What of a partition may be searched: from `first` up to, not including, `end`."""

    first: int
    end: int


class _Candidate(NamedTuple):
    """A record, ordered as it is printed."""

    timestamp: int
    key: PartitionKey
    offset: int
    batch: FetchedBatch


class LastRecords:
    """Finds the last records; what it has read stays at hand as batches of single records."""

    def __init__(
        self,
        client: ClusterClient,
        limits: FetchLimits,
        is_visible: IsVisible,
        count: int,
    ) -> None:
        """Look for `count` records in batches of which `is_visible` says that they count."""
        self._client = client
        self._limits = limits
        self._is_visible = is_visible
        self._count = count
        self._newest: list[_Candidate] = []
        self._found: dict[PartitionKey, int] = {}

    def search(
        self, positions: Mapping[PartitionKey, FetchPosition], spans: Mapping[PartitionKey, Span]
    ) -> Iterator[Fetcher]:
        """Return fetchers one after the other, each to be polled until it is done.

        The batches of each go to `take`. Positions say whom to ask; they are not moved.
        """
        step = max(self._count, _LEAST_STEP)
        left = {key: span for key, span in spans.items() if span.end > span.first}
        while left:
            windows = {
                key: Span(max(span.first, span.end - step), span.end) for key, span in left.items()
            }
            yield Fetcher(
                self._client,
                [_copy(positions[key], window) for key, window in windows.items()],
                self._limits,
            )
            left = {
                key: Span(span.first, windows[key].first)
                for key, span in left.items()
                if windows[key].first > span.first and self._found.get(key, 0) < self._count
            }
            step *= _GROWTH

    def take(self, fetched: FetchedBatch) -> None:
        """Keep the records of a batch that are among the newest so far."""
        if not self._is_visible(fetched):
            return
        for record in fetched.batch.records():
            if not fetched.start <= record.offset < fetched.stop:
                continue
            self._found[fetched.key] = self._found.get(fetched.key, 0) + 1
            offset = record.offset
            alone = FetchedBatch(fetched.key, fetched.batch, offset, offset + 1, fetched.is_aborted)
            candidate = _Candidate(record.timestamp, fetched.key, offset, alone)
            if len(self._newest) < self._count:
                heappush(self._newest, candidate)
            elif candidate[:3] > self._newest[0][:3]:
                heapreplace(self._newest, candidate)

    def result(self) -> list[FetchedBatch]:
        """Return the records in time order, neighbours of one batch together."""
        merged: list[FetchedBatch] = []
        for each in sorted(self._newest, key=lambda candidate: candidate[:3]):
            last = merged[-1] if merged else None
            if last is not None and last.batch is each.batch.batch and last.stop == each.offset:
                last.stop = each.offset + 1
            else:
                merged.append(each.batch)
        return merged


def _copy(position: FetchPosition, window: Span) -> FetchPosition:
    """Return a position for a window of the same partition."""
    return FetchPosition(
        key=position.key,
        offset=window.first,
        stop=window.end,
        topic_id=position.topic_id,
        leader_id=position.leader_id,
        leader_epoch=position.leader_epoch,
    )
