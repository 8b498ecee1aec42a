"""Reads how long the earlier transactions of producers took, from what is before an open one.

    orders[3]   data id 7   data id 7   COMMIT id 7   data id 7   COMMIT id 7   data id 7, open
                <-------- 120 ms ------------->       <--- 80 ms --->

Kafka keeps no history of transactions: the markers in the log are all there is. A transaction that
began before what is read does not count.

Source: KIP-98 (control batches).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.fetcher import Fetcher
from kdiag.client.fetch.position import FetchPosition, PartitionKey
from kdiag.client.fetch.session import FetchLimits
from kdiag.clock import NS_PER_S
from kdiag.diagnosis.transactions import OpenPartition
from kdiag.errors import KdiagError
from kdiag.wire.records.batch import RecordBatch

_LIMITS: Final = FetchLimits(
    partition_max_bytes=256 << 10, max_wait_ms=100, is_committed_only=False
)
_OFFSETS: Final = 1_000
_MOST_PARTITIONS: Final = 100
_MOST_EARLIER: Final = 20
_LIMIT_NS: Final = 3 * NS_PER_S


def earlier_transactions(
    client: ClusterClient, partitions: Iterable[OpenPartition]
) -> dict[int, Sequence[int]]:
    """Return how long the last transactions of producers took, in ms, by producer id.

    What cannot be read is not known, and not an error: it is a comparison, no more.

    Args:
        client: connected; it knows the topics of the partitions.
        partitions: with an open transaction.
    """
    chosen = {PartitionKey(*each.place): each for each in partitions}
    positions = [
        FetchPosition(
            key=key,
            offset=max(0, each.start_offset - _OFFSETS),
            stop=each.start_offset,
            topic_id=client.cluster.topics[key.topic].topic_id,
            leader_id=each.leader_id,
        )
        for key, each in list(chosen.items())[:_MOST_PARTITIONS]
        if each.start_offset > 0 and key.topic in client.cluster.topics
    ]
    batches: dict[PartitionKey, list[RecordBatch]] = defaultdict(list)
    fetcher = Fetcher(client, positions, _LIMITS)
    until_ns = min(client.clock.monotonic_ns() + _LIMIT_NS, client.deadline_ns)
    try:
        while not fetcher.is_done and client.clock.monotonic_ns() < until_ns:
            for fetched in fetcher.poll(until_ns):
                batches[fetched.key].append(fetched.batch)
    except KdiagError:
        return {}
    by_producer: dict[int, list[int]] = defaultdict(list)
    for key, of_partition in batches.items():
        producer_id = chosen[key].producer_id
        by_producer[producer_id] += durations_ms(of_partition, producer_id)
    return {each: took_ms[-_MOST_EARLIER:] for each, took_ms in by_producer.items()}


def durations_ms(batches: Sequence[RecordBatch], producer_id: int) -> list[int]:
    """Return how long the transactions of a producer took that began and ended in some batches.

    Args:
        batches: of one partition, in order.
        producer_id: of the producer.
    """
    took_ms = []
    began_ms: int | None = None
    is_whole = bool(batches) and batches[0].base_offset == 0
    for batch in batches:
        if batch.producer_id != producer_id:
            continue
        if not batch.is_control:
            began_ms = batch.base_timestamp if began_ms is None else began_ms
            continue
        if began_ms is not None and is_whole:
            took_ms.append(max(0, batch.max_timestamp - began_ms))
        began_ms, is_whole = None, True
    return took_ms
