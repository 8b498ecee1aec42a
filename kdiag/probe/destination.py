"""Destinations of requests: parses what the user writes, and finds the nodes.

    2                    broker 2
    any                  a node that is connected already
    all                  each broker
    controller           the broker that Metadata names as the controller
    coordinator:orders   the coordinator of group `orders`
    coordinator:txn:tx   that of transactional id `tx`; `coordinator:group:txn:x` is a group again
    leader:orders:0      the leader of a partition
    bootstrap            each bootstrap server itself, without a request for the cluster first

Source: Kafka's Metadata and FindCoordinator; KIP-919 (controllers do not support Metadata).
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_MS
from kdiag.probe.coordinator.search import PATIENCE_NS, coordinator_request
from kdiag.wire.api.find_coordinator import Coordinator, FindCoordinatorResponse
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag.wire.error_code import error_name

FORMS: Final = (
    "a broker's id, any, all, controller, bootstrap, coordinator:GROUP, coordinator:txn:ID, "
    "coordinator:share:GROUP:TOPICID:PARTITION or leader:TOPIC:PARTITION"
)

_RETRY_NS: Final = 100 * NS_PER_MS
_NOT_AVAILABLE: Final = "COORDINATOR_NOT_AVAILABLE"
_NO_BROKER: Final = "BROKER_NOT_AVAILABLE"
_KINDS: Final = {
    "group": CoordinatorKind.GROUP,
    "txn": CoordinatorKind.TRANSACTION,
    "share": CoordinatorKind.SHARE,
}


class Way(StrEnum):
    """How the nodes are found."""

    ANY = "any"
    ALL = "all"
    CONTROLLER = "controller"
    BOOTSTRAP = "bootstrap"
    BROKER = "broker"
    COORDINATOR = "coordinator"
    LEADER = "leader"


class Destination(NamedTuple):
    """The destination of a request.

    Attributes:
        way: how the nodes are found.
        name: the group, the transactional id, the share partition or the topic.
        number: the broker's id, or the partition.
        kind: of the coordinator.
    """

    way: Way
    name: str = ""
    number: int = 0
    kind: CoordinatorKind = CoordinatorKind.GROUP


class Nodes(NamedTuple):
    """The nodes that a request goes to.

    Attributes:
        ids: brokers, or connected bootstrap servers (-1, -2 ...); empty if `why` says so.
        why: the reason if there are none.
        error: Kafka's name of that error; None if the destination itself is wrong.
    """

    ids: Sequence[int]
    why: str = ""
    error: str | None = None


def parse_destination(text: str) -> Destination:
    """Return the destination of a text; this module's docstring lists the forms.

    Raises:
        ValueError: if the text is not a destination.
    """
    if text in {Way.ANY, Way.ALL, Way.CONTROLLER, Way.BOOTSTRAP}:
        return Destination(Way(text))
    if text.isdecimal() and text.isascii():
        return Destination(Way.BROKER, number=int(text))
    way, _, name = text.partition(":")
    if way == Way.COORDINATOR and name:
        kind, _, key = name.partition(":")
        if kind in _KINDS and key:
            return Destination(Way.COORDINATOR, key, kind=_KINDS[kind])
        return Destination(Way.COORDINATOR, name)
    topic, _, partition = name.rpartition(":")
    if way == Way.LEADER and topic and partition.isdecimal() and partition.isascii():
        return Destination(Way.LEADER, topic, int(partition))
    raise ValueError(f"{text!r} is not a destination: give {FORMS}")


def find_nodes(client: ClusterClient, destination: Destination) -> Nodes:
    """Return the nodes of a destination; the client must be connected, except for `bootstrap`.

    Raises:
        KdiagError: if no broker answers who the leader or the coordinator is.
    """
    match destination.way:
        case Way.BROKER:
            return _broker(client, destination.number)
        case Way.CONTROLLER:
            return _controller(client)
        case Way.LEADER:
            return _leader(client, destination.name, destination.number)
        case Way.COORDINATOR:
            return _coordinator(client, destination)
        case Way.ANY:
            return Nodes([client.any_node()])
    known = list(client.cluster.brokers)  # before `connect` these are the bootstrap servers
    return Nodes(known) if known else Nodes([], "the cluster names no broker", _NO_BROKER)


def broker_id(client: ClusterClient, node_id: int) -> int | None:
    """Return the broker id of a node; None for a bootstrap server that no broker advertises.

    A broker may advertise it by its name or by the address that its name resolves to.
    """
    if node_id >= 0:
        return node_id
    node = client.node(node_id)
    hosts = {node.host, node.address.ip if node.address else node.host}
    same = (each.id for each in client.brokers if each.host in hosts and each.port == node.port)
    return next(same, None)


def _broker(client: ClusterClient, node_id: int) -> Nodes:
    if node_id in client.cluster.brokers:
        return Nodes([node_id])
    known = ", ".join(str(each.id) for each in client.brokers)
    return Nodes([], f"the cluster has no broker {node_id}; it has {known}")


def _controller(client: ClusterClient) -> Nodes:
    node_id = client.cluster.controller_id
    if node_id in client.cluster.brokers:
        return Nodes([node_id])
    return Nodes([], "the cluster names no controller", "NOT_CONTROLLER")


def _leader(client: ClusterClient, topic: str, index: int) -> Nodes:
    known = client.refresh([topic]).topics.get(topic)
    if known is None or known.error_code:
        error = error_name(known.error_code) if known else "UNKNOWN_TOPIC_OR_PARTITION"
        return Nodes([], f"topic {topic}: {error}", error)
    partition = client.cluster.partition(topic, index)
    if partition is None:
        why = f"topic {topic} has partitions 0 to {len(known.partitions) - 1}, not {index}"
        return Nodes([], why, "UNKNOWN_TOPIC_OR_PARTITION")
    if partition.leader_id not in client.cluster.brokers:
        return Nodes([], f"{topic}[{index}] has no leader", "LEADER_NOT_AVAILABLE")
    return Nodes([partition.leader_id])


def _coordinator(client: ClusterClient, destination: Destination) -> Nodes:
    """Ask for the coordinator, again while the first request has its topic created."""
    until_ns = client.clock.monotonic_ns() + PATIENCE_NS
    while True:
        named = _ask(client, destination)
        error = error_name(named.error_code) if named.error_code else None
        if error != _NOT_AVAILABLE or client.clock.monotonic_ns() >= until_ns:
            break
        client.wait(_RETRY_NS)
    coordinator = f"the coordinator of {destination.kind.noun} {destination.name}"
    if error is not None:
        return Nodes([], f"{coordinator}: {error}", error)
    if named.node_id not in client.cluster.brokers:
        why = f"{coordinator} is broker {named.node_id}, which is not among the brokers"
        return Nodes([], why, _NOT_AVAILABLE)
    return Nodes([named.node_id])


def _ask(client: ClusterClient, destination: Destination) -> Coordinator:
    """Return a broker's answer; before version 4 it does not repeat the key."""
    request = coordinator_request(destination.kind, [destination.name])
    body = client.ask_any(request, FindCoordinatorResponse)
    return next(iter(body.coordinators), None) or Coordinator(
        destination.name, body.node_id, body.host, body.port, body.error_code
    )
