"""Chooses the partitions to load: of kdiag's own topic, or of an existing one."""

from collections.abc import Mapping, Sequence
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.offsets import EARLIEST, LATEST, look_up
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.network.metadata import Topic
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import AuthorizationError, ConfigError, ProbeError
from kdiag.probe.buffers.load import Target, answered_bytes, produce_request
from kdiag.probe.topic import ProbeTopic, ProbeTopicSettings
from kdiag.wire.api.produce import ProduceResponse
from kdiag.wire.error_code import error_name

FETCHED_BYTES: Final = 4 << 20
"""The bytes that one Fetch of the load requests."""

_ORIGIN: Final = "--topic"
_PATIENCE_NS: Final = 10 * NS_PER_S
_RETRY_NS: Final = 100 * NS_PER_MS
_NOT_YET: Final = frozenset(
    ("NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID")
)
_DENIED: Final = "TOPIC_AUTHORIZATION_FAILED"
_CONFIGS: Final = {
    "cleanup.policy": "delete",
    "compression.type": "uncompressed",
    "max.message.bytes": "1048588",
    "min.insync.replicas": "1",
    "retention.bytes": str(256 << 20),
    "retention.ms": "3600000",
    "segment.bytes": str(64 << 20),
}
"""Keep the topic small if nobody removes it, and its batches as they are."""


def own_topic(node_ids: Sequence[int]) -> ProbeTopicSettings:
    """Return the topic to create: two partitions for each broker, one to write and one to read."""
    return ProbeTopicSettings([each for each in node_ids for _ in range(2)], _CONFIGS)


def own_targets(
    client: ClusterClient, topic: ProbeTopic, node_ids: Sequence[int], batch: bytes
) -> dict[int, Target]:
    """Return the partitions to load on each broker, those to read filled.

    Args:
        client: connected.
        topic: created as `own_topic` says.
        node_ids: the same as there.
        batch: fills the partitions to read.

    Raises:
        KdiagError: if they cannot be filled.
    """
    targets = {}
    for number, node_id in enumerate(node_ids):
        write, read = 2 * number, 2 * number + 1
        targets[node_id] = Target(node_id, topic.name, topic.topic_id, write, {read: 0})
        _append(client, targets[node_id], batch)
        filling = targets[node_id]._replace(written_partition=read)
        for _ in range(-(-FETCHED_BYTES // len(batch))):
            _append(client, filling, batch)
    return targets


def topic_targets(client: ClusterClient, name: str, *, writes: bool) -> dict[int, Target]:
    """Return the partitions of an existing topic that each broker leads.

    Args:
        client: connected.
        name: of the topic.
        writes: whether it may be written to.

    Raises:
        ConfigError: if there is no such topic.
        AuthorizationError: if it may not be described.
        ProbeError: if it is empty and may not be written to.
        KdiagError: if no broker answers.
    """
    topic = client.refresh([name]).topics.get(name)
    error = error_name(topic.error_code) if topic else "UNKNOWN_TOPIC_OR_PARTITION"
    if error == _DENIED:
        raise AuthorizationError(f"topic {name}: not authorized to describe it ({error})")
    if topic is None or topic.error_code:
        raise ConfigError(name, _ORIGIN, f"there is no such topic ({error})")
    first = _first_offsets(client, topic)
    targets = {}
    for node_id in sorted({each.leader_id for each in topic.partitions if each.leader_id >= 0}):
        led = [each.partition_index for each in topic.partitions if each.leader_id == node_id]
        offsets = {each: first[each] for each in led if each in first}
        if offsets or writes:
            written = led[0] if writes else None
            targets[node_id] = Target(node_id, name, topic.topic_id, written, offsets)
    if not targets:
        raise ProbeError(f"topic {name}", "it holds no records that could be fetched")
    return targets


def _append(client: ClusterClient, target: Target, batch: bytes) -> None:
    """Produce a batch, again while the leader does not know yet that it is one."""
    until_ns = min(client.clock.monotonic_ns() + _PATIENCE_NS, client.deadline_ns)
    while True:
        answer = client.ask(target.node_id, produce_request(target, batch), ProduceResponse)
        parts = [part for topic in answer.responses for part in topic.partition_responses]
        is_early = any(error_name(part.error_code) in _NOT_YET for part in parts)
        if not is_early or client.clock.monotonic_ns() + _RETRY_NS >= until_ns:
            answered_bytes(answer, len(batch))
            return
        client.wait(_RETRY_NS)


def _first_offsets(client: ClusterClient, topic: Topic) -> Mapping[int, int]:
    """Return the first offsets of the partitions that hold anything."""
    leaders = {PartitionKey(topic.name, e.partition_index): e.leader_id for e in topic.partitions}
    leaders = {key: leader for key, leader in leaders.items() if leader >= 0}
    first, last = (
        look_up(client, dict.fromkeys(leaders, when), leaders, is_committed_only=False)
        for when in (EARLIEST, LATEST)
    )
    return {
        key.partition: first[key].offset
        for key in leaders
        if 0 <= first[key].offset < last[key].offset
    }
