"""The topic of a latency measurement: kdiag's own, or an existing one."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.offsets import LATEST, look_up
from kdiag.client.fetch.position import PartitionKey
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import AuthorizationError, ConfigError, ProbeError
from kdiag.probe.latency.plan import LatencyTarget
from kdiag.probe.topic import ProbeTopicSettings, probe_topic
from kdiag.wire.error_code import error_name

_MOST_REPLICAS: Final = 3
_CONFIGS: Final = {
    "cleanup.policy": "delete",
    "min.insync.replicas": "1",  # acks=all waits for all in-sync replicas anyway
    "retention.bytes": str(256 << 20),
    "segment.bytes": str(64 << 20),
}
_PATIENCE_NS: Final = 10 * NS_PER_S
_RETRY_NS: Final = 100 * NS_PER_MS
_DENIED: Final = "TOPIC_AUTHORIZATION_FAILED"


def chosen_nodes(client: ClusterClient, wanted: Sequence[int]) -> list[int]:
    """Return the brokers to measure: the wanted ones, or all.

    Raises:
        ConfigError: if a broker does not exist.
    """
    nodes = [each.id for each in client.brokers]
    missing = sorted(set(wanted) - set(nodes))
    if missing:
        known = ", ".join(map(str, nodes))
        raise ConfigError("--broker", "option", f"there is no broker {missing[0]}, but {known}")
    return sorted(set(wanted)) or nodes


@contextmanager
def own_target(client: ClusterClient, nodes: Sequence[int]) -> Iterator[LatencyTarget]:
    """Create a topic with a partition on each broker, and remove it at the end.

    It has as many replicas as topics usually have: with a single one, acks=all would be acks=1.

    Args:
        client: connected; used for the topic alone.
        nodes: the brokers.

    Raises:
        KdiagError: as `probe_topic`.
    """
    replicas = min(_MOST_REPLICAS, len(client.brokers))
    settings = ProbeTopicSettings(nodes, _CONFIGS, replicas)
    with probe_topic(client, settings) as topic:
        yield LatencyTarget(topic.name, topic.topic_id, topic.leaders)


def existing_target(client: ClusterClient, name: str, nodes: AbstractSet[int]) -> LatencyTarget:
    """Return an existing topic, with its partitions on some brokers.

    Raises:
        AuthorizationError: if it may not be described.
        ConfigError: if it does not exist.
        ProbeError: if these brokers lead none of its partitions.
    """
    topic = client.refresh([name]).topics.get(name)
    error = "UNKNOWN_TOPIC_OR_PARTITION" if topic is None else error_name(topic.error_code)
    if error == _DENIED:
        raise AuthorizationError(f"topic {name}: not authorized to see it")
    if topic is None or topic.error_code:
        raise ConfigError("--topic", "option", f"{name} cannot be used: {error}")
    leaders = {
        each.partition_index: each.leader_id for each in topic.partitions if each.leader_id in nodes
    }
    if not leaders:
        raise ProbeError(f"topic {name}", "none of the brokers leads a partition of it")
    return LatencyTarget(name, topic.topic_id, leaders)


def end_offsets(client: ClusterClient, target: LatencyTarget) -> dict[int, int]:
    """Return the end offset of each partition of a topic.

    It asks leaders again for a while: one may not know yet of a new topic.

    Raises:
        AuthorizationError: if it may not be read.
        ProbeError: if a leader does not answer.
    """
    keys = {PartitionKey(target.topic, each): leader for each, leader in target.leaders.items()}
    until_ns = min(client.clock.monotonic_ns() + _PATIENCE_NS, client.deadline_ns)
    while True:
        found = look_up(client, dict.fromkeys(keys, LATEST), keys, is_committed_only=False)
        errors = {key: each.error for key, each in found.items() if each.error is not None}
        if not errors:
            return {key.partition: each.offset for key, each in found.items()}
        if _DENIED in errors.values():
            raise AuthorizationError(f"topic {target.topic}: not authorized to read it")
        if client.clock.monotonic_ns() + _RETRY_NS >= until_ns:
            key, error = next(iter(errors.items()))
            raise ProbeError(str(key), f"its end cannot be found: {error}")
        client.wait(_RETRY_NS)
