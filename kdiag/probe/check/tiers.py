"""Asks how much of topics is in remote storage alone, and what a read from there costs (KIP-405).

    log of a partition    start ------------- local ------------- end
                          | remote            | on the broker's disk
                          ListOffsets -2      ListOffsets -4

Source: Kafka's ListOffsets v8 (EARLIEST_LOCAL_TIMESTAMP), `RemoteLogReader`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.offsets import EARLIEST, EARLIEST_LOCAL, LATEST, look_up
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.network.request import RequestBuilder
from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.check.facts import TierRead, TopicTier
from kdiag.probe.topic_requests import request_about
from kdiag.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kdiag.wire.api.metadata import MetadataResponseTopic
from kdiag.wire.error_code import error_name

_Parts = Mapping[PartitionKey, tuple[int, int, int]]
"""First offset, first local one and end, of the partitions whose beginnings are remote."""


class _TieredTopic(NamedTuple):
    """A topic as requests identify it."""

    topic: str
    topic_id: bytes


def find_tiers(
    client: ClusterClient,
    topics: Iterable[MetadataResponseTopic],
    among: Collection[int],
    limit_ns: int,
) -> Iterator[TopicTier]:
    """Yield the topics that are in remote storage in part.

    Brokers before Kafka 3.6 have no such storage, and are not asked.

    Args:
        client: connected.
        topics: as Metadata has them.
        among: the brokers that can be asked.
        limit_ns: how long each question may take.
    """
    for topic in topics:
        leaders: dict[PartitionKey, int | None] = {
            PartitionKey(topic.name or "", each.partition_index): each.leader_id
            for each in topic.partitions
            if each.leader_id in among
        }
        first, local, last = (
            look_up(
                client,
                dict.fromkeys(leaders, at),
                leaders,
                is_committed_only=False,
                timeout_ns=limit_ns,
            )
            for at in (EARLIEST, EARLIEST_LOCAL, LATEST)
        )
        remote = {
            key: (first[key].offset, local[key].offset, last[key].offset)
            for key in leaders
            if not (first[key].error or local[key].error or last[key].error)
            and first[key].offset < local[key].offset
        }
        if remote:
            yield _tier(client, topic, leaders, remote, limit_ns)


def _tier(
    client: ClusterClient,
    topic: MetadataResponseTopic,
    leaders: Mapping[PartitionKey, int | None],
    remote: _Parts,
    limit_ns: int,
) -> TopicTier:
    key, (first, local, last) = min(remote.items())
    leader = leaders[key]
    assert leader is not None
    offsets = (first, *([local] if local < last else []))
    named = _TieredTopic(key.topic, topic.topic_id)
    reads = [
        _read(client, leader, request_about(named, _request(named, key.partition, each)), limit_ns)
        for each in offsets
    ]
    return TopicTier(
        topic=key.topic,
        partition_count=len(topic.partitions),
        remote_count=len(remote),
        remote_offsets=sum(local - first for first, local, _ in remote.values()),
        offsets=sum(last - first for first, _, last in remote.values()),
        remote_read=reads[0],
        local_read=reads[1] if len(reads) > 1 else None,
    )


def _request(topic: _TieredTopic, partition: int, offset: int) -> FetchRequest:
    """Return the Fetch of one batch."""
    part = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1)
    topics = [FetchTopic(topic.topic, topic.topic_id, [part])]
    return FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1, session_epoch=-1, topics=topics)


def _read(client: ClusterClient, leader: int, question: RequestBuilder, limit_ns: int) -> TierRead:
    """Return how a Fetch of one batch went."""
    (answer,) = client.ask_each([(leader, question)], FetchResponse, timeout_ns=limit_ns)
    took_ms = (answer.rtt_ns or 0) / NS_PER_MS
    if answer.body is None:
        return TierRead(took_ms=took_ms, error=str(answer.error))
    parts = [each for topic in answer.body.responses for each in topic.partitions]
    codes = [answer.body.error_code, *(each.error_code for each in parts)]
    error = next((error_name(code) for code in codes if code), None)
    is_empty = not any(each.records for each in parts)
    return TierRead(took_ms=took_ms, error=error or ("no record came" if is_empty else None))
