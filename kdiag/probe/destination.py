"""Where a request goes: from what a person says to the nodes that it is sent to.

    2                    broker 2
    any                  whichever node is connected already
    all                  each broker
    controller           the broker that Metadata calls the controller
    coordinator:orders   the coordinator of group `orders`
    coordinator:txn:tx   that of transactional id `tx`; `coordinator:group:txn:x` is a group again
    leader:orders:0      the leader of a partition
    bootstrap            each bootstrap server itself; nobody is asked for the cluster first

Source: Kafka's Metadata and FindCoordinator; KIP-919 (controllers, which know no Metadata).
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.probe.coordinator.search import PATIENCE_NS, coordinator_request
from kdiag.wire.api.find_coordinator import Coordinator, FindCoordinatorResponse
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag.wire.error_code import error_name

FORMS: Final = (
    "a broker's id, any, all, controller, bootstrap, coordinator:GROUP, coordinator:txn:ID, "
    "coordinator:share:GROUP:TOPICID:PARTITION or leader:TOPIC:PARTITION"
)

_RETRY_NS: Final = 100_000_000
_NOT_AVAILABLE: Final = "COORDINATOR_NOT_AVAILABLE"
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
    """Where a request goes.

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
        why: why there is none.
        error: Kafka's name of the error behind that; None if the destination is the mistake.
    """

    ids: Sequence[int]
    why: str = ""
    error: str | None = None


def parse_destination(text: str) -> Destination:
    """Return the destination that a text names, as the head of this module lists them.

    Raises:
        ValueError: if it names none.
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
    raise ValueError(f"{text!r} is no destination: give {FORMS}")


def find_nodes(client: ClusterClient, destination: Destination) -> Nodes:
    """Return the nodes to ask; the client must be connected, unless it is for `bootstrap`.

    Raises:
        KdiagError: if nobody can be asked who the leader or the coordinator is.
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
    return Nodes(list(client.cluster.brokers))  # before `connect` these are the bootstrap servers


def broker_id(client: ClusterClient, node_id: int) -> int | None:
    """Return which broker a node is; None for a bootstrap server that none advertises.

    It may be advertised by its name or by the address that its name has led to.
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
    """Ask for the coordinator, also while its topic is being created by the first question."""
    until_ns = client.clock.monotonic_ns() + PATIENCE_NS
    while True:
        named = _ask(client, destination)
        error = error_name(named.error_code) if named.error_code else None
        if error != _NOT_AVAILABLE or client.clock.monotonic_ns() >= until_ns:
            break
        client.wait(_RETRY_NS)
    what = f"the coordinator of {destination.kind.noun} {destination.name}"
    if error is not None:
        return Nodes([], f"{what}: {error}", error)
    if named.node_id not in client.cluster.brokers:
        why = f"{what} is broker {named.node_id}, which is not among the brokers"
        return Nodes([], why, _NOT_AVAILABLE)
    return Nodes([named.node_id])


def _ask(client: ClusterClient, destination: Destination) -> Coordinator:
    """Return what a broker says; before version 4 it speaks of the one key without naming it."""
    request = coordinator_request(destination.kind, [destination.name])
    body = client.ask_any(request, FindCoordinatorResponse)
    return next(iter(body.coordinators), None) or Coordinator(
        destination.name, body.node_id, body.host, body.port, body.error_code
    )
