"""Reads the records that groups read next: how old they are, and how many there really are.

    offsets   committed 40   41 marker   42 ... 97 compacted away   98 record   99 marker   end 100
              a difference of offsets says 60 records of lag; there is one, and it is the age of
              offset 98 that the group is behind

A partition is read until its first visible record is known and, for as long as a few responses
reach, to its end: then the lag is a count.

Source: Kafka's Fetch with isolation level read_committed.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.fetcher import Fetcher
from kdiag.client.fetch.position import FetchedBatch, FetchPosition, PartitionKey
from kdiag.client.fetch.session import FetchLimits
from kdiag.client.network.metadata import Cluster
from kdiag.clock import NS_PER_S
from kdiag.errors import DecodeError, KdiagError

PARTITIONS_AT_ONCE: Final = 500

_LIMITS: Final = FetchLimits(partition_max_bytes=64 << 10, max_wait_ms=100)
_MOST_BYTES: Final = 64 << 10
"""Of a partition: what does not fit is not counted. Its first batch is read whatever its size."""

_PART_NS: Final = 6 * NS_PER_S
"""How long all partitions that are read at once may take."""


class NextRecords(msgspec.Struct):
    """What is left to read of a partition.

    Attributes:
        offset, timestamp_ms: of the first visible record; None if there is none.
        count: the visible records that were read.
        read_to: the offset up to which they were.
        error: why it could not be read.
    """

    offset: int | None = None
    timestamp_ms: int | None = None
    count: int = 0
    read_to: int = 0
    error: str | None = None


class UnreadSpan(msgspec.Struct, frozen=True):
    """What a group has not read of a partition: from `start` to before `stop`."""

    key: PartitionKey
    start: int
    stop: int


def read_next(
    client: ClusterClient, cluster: Cluster, spans: Iterable[UnreadSpan]
) -> dict[UnreadSpan, NextRecords]:
    """Return what is left to read in each span.

    Args:
        client: connected.
        cluster: who leads the partitions.
        spans: of one partition each; several groups may be at different places of the same.
    """
    found: dict[UnreadSpan, NextRecords] = {}
    waiting = list(dict.fromkeys(spans))
    while waiting:
        chosen: dict[PartitionKey, UnreadSpan] = {}
        for span in waiting:
            if len(chosen) < PARTITIONS_AT_ONCE:
                chosen.setdefault(span.key, span)
        found.update(_read(client, cluster, chosen))
        done = set(chosen.values())
        waiting = [span for span in waiting if span not in done]
    return found


def _read(
    client: ClusterClient, cluster: Cluster, spans: dict[PartitionKey, UnreadSpan]
) -> dict[UnreadSpan, NextRecords]:
    """Return what is left to read of partitions, each once."""
    found = {key: NextRecords(read_to=span.start) for key, span in spans.items()}
    read_bytes = dict.fromkeys(spans, 0)
    fetcher = Fetcher(client, _positions(cluster, spans, found), _LIMITS)
    until_ns = min(client.clock.monotonic_ns() + _PART_NS, client.deadline_ns)
    try:
        while not fetcher.is_done and client.clock.monotonic_ns() < until_ns:
            for fetched in fetcher.poll(until_ns):
                _take(found[fetched.key], fetched)
                read_bytes[fetched.key] += fetched.batch.size_in_bytes
            _end_known(fetcher, found, read_bytes)
        failure = "its records did not come in time"
    except KdiagError as error:
        failure = str(error)
    notices = [each.text for each in fetcher.take_notices()]
    for key, span in spans.items():
        each = found[key]
        if each.error is None and not each.count and each.read_to < span.stop:
            told = [text for text in notices if str(key) in text]
            each.error = "; ".join(told) or failure
    return {span: found[key] for key, span in spans.items()}


def _positions(
    cluster: Cluster, spans: dict[PartitionKey, UnreadSpan], found: dict[PartitionKey, NextRecords]
) -> list[FetchPosition]:
    positions = []
    for key, span in spans.items():
        partition = cluster.partition(*key)
        if partition is None:
            found[key].error = "it does not exist"
            continue
        positions.append(
            FetchPosition(
                key=key,
                offset=span.start,
                stop=span.stop,
                topic_id=cluster.topics[key.topic].topic_id,
                leader_id=partition.leader_id,
                leader_epoch=partition.leader_epoch,
            )
        )
    return positions


def _take(found: NextRecords, fetched: FetchedBatch) -> None:
    """Count the visible records of a batch."""
    batch = fetched.batch
    found.read_to = min(batch.last_offset + 1, fetched.stop)
    if batch.is_control or fetched.is_aborted:
        return
    try:
        records = batch.records()
    except DecodeError as error:
        found.error = str(error)
        return
    for record in records:
        if fetched.start <= record.offset < fetched.stop:
            found.count += 1
            if found.offset is None:
                found.offset, found.timestamp_ms = record.offset, record.timestamp


def _end_known(
    fetcher: Fetcher, found: dict[PartitionKey, NextRecords], read_bytes: dict[PartitionKey, int]
) -> None:
    """Read no further where enough is known; note how far those got that are at their ends."""
    for key, position in fetcher.positions.items():
        if position.is_done:
            found[key].read_to = max(found[key].read_to, position.stop)
        elif found[key].error or (found[key].count and read_bytes[key] >= _MOST_BYTES):
            position.stop = position.offset
