"""From what a person says to the nodes that are asked."""

from collections.abc import Iterator

import pytest

from kdiag.probe.destination import (
    Destination,
    Nodes,
    Way,
    broker_id,
    find_nodes,
    parse_destination,
)
from kdiag.wire.api.find_coordinator import Coordinator, FindCoordinatorResponse
from kdiag.wire.api.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.coordinating_cluster import coordinating_cluster
from scripted_kafka.scripted_broker import Received, offering
from scripted_kafka.scripted_cluster import ScriptedCluster
from tiers.cases import for_each

UNKNOWN = "UNKNOWN_TOPIC_OR_PARTITION"


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Three brokers; the second coordinates everything, the third leads partition 1 of orders."""
    with coordinating_cluster() as cluster:
        partitions = [
            MetadataResponsePartition(partition_index=0, leader_id=-1),
            MetadataResponsePartition(partition_index=1, leader_id=3),
        ]
        cluster.topics.append(MetadataResponseTopic(name="orders", partitions=partitions))
        yield cluster


def find(cluster: ScriptedCluster, text: str) -> Nodes:
    """Return the nodes of a destination."""
    with cluster.client() as client:
        return find_nodes(client, parse_destination(text))


@for_each(
    ("text", "destination"),
    [
        ("any", Destination(Way.ANY)),
        ("2", Destination(Way.BROKER, number=2)),
        ("coordinator:orders", Destination(Way.COORDINATOR, "orders")),
        ("coordinator:a:b", Destination(Way.COORDINATOR, "a:b")),
        ("coordinator:txn", Destination(Way.COORDINATOR, "txn")),
        (
            "coordinator:txn:tx",
            Destination(Way.COORDINATOR, "tx", kind=CoordinatorKind.TRANSACTION),
        ),
        ("coordinator:group:txn:x", Destination(Way.COORDINATOR, "txn:x")),
        ("leader:orders:12", Destination(Way.LEADER, "orders", 12)),
    ],
)
def test_a_text_names_a_destination(text: str, destination: Destination) -> None:
    """A colon in a group's name is no problem."""
    assert parse_destination(text) == destination


@for_each(
    "text",
    ["", "-1", "1.5", "²", "everyone", "coordinator:", "leader:orders", "leader::0", "leader:t:x"],
)
def test_anything_else_is_refused_with_the_forms_that_there_are(text: str) -> None:
    """Whoever mistypes sees what to type."""
    with pytest.raises(ValueError, match="is not a destination: give a broker's id, any, all"):
        parse_destination(text)


@for_each(
    ("text", "ids"),
    [
        ("3", [3]),
        ("all", [1, 2, 3]),
        ("controller", [1]),
        ("coordinator:orders", [2]),
        ("coordinator:txn:tx", [2]),
        ("leader:orders:1", [3]),
    ],
)
def test_a_destination_is_some_brokers(cluster: ScriptedCluster, text: str, ids: list[int]) -> None:
    """By what the cluster says of itself."""
    assert find(cluster, text) == Nodes(ids)


def test_any_is_a_node_that_is_connected(cluster: ScriptedCluster) -> None:
    """One of the bootstrap servers has just answered."""
    (node_id,) = find(cluster, "any").ids
    assert node_id < 0


def test_a_bootstrap_server_is_the_broker_that_advertises_its_address(
    cluster: ScriptedCluster,
) -> None:
    """Where nobody advertises it, it is none."""
    with cluster.client() as client:
        node_id = client.any_node()
        port = client.node(node_id).port
        number = broker_id(client, node_id)
        assert number is not None
        assert cluster.brokers[number].port == port
        assert broker_id(client, 3) == 3
        nodes = [MetadataResponseBroker(1, "elsewhere", 9092)]
        cluster.on("Metadata", MetadataResponse(brokers=nodes))
        client.refresh()
        assert broker_id(client, node_id) is None


@for_each(
    ("text", "why", "error"),
    [
        ("7", "the cluster has no broker 7; it has 1, 2, 3", None),
        ("leader:orders:0", "orders[0] has no leader", "LEADER_NOT_AVAILABLE"),
        ("leader:orders:9", "topic orders has partitions 0 to 1, not 9", UNKNOWN),
        ("leader:nope:0", f"topic nope: {UNKNOWN}", UNKNOWN),
    ],
)
def test_nobody_to_ask_is_told_with_the_reason(
    cluster: ScriptedCluster, text: str, why: str, error: str | None
) -> None:
    """A broker's error is one thing, a broker that does not exist another."""
    assert find(cluster, text) == Nodes([], why, error)


def test_no_controller_is_told(cluster: ScriptedCluster) -> None:
    """The Metadata of a cluster in trouble names none."""
    nodes = [MetadataResponseBroker(1, "127.0.0.1", cluster.brokers[1].port)]
    cluster.on("Metadata", MetadataResponse(brokers=nodes, controller_id=-1))
    assert find(cluster, "controller").error == "NOT_CONTROLLER"


def test_a_coordinator_that_is_refused_is_an_error(cluster: ScriptedCluster) -> None:
    """By Kafka's name."""
    code = CODE_BY_NAME["GROUP_AUTHORIZATION_FAILED"]
    refusal = Coordinator("orders", error_code=code)
    cluster.on("FindCoordinator", FindCoordinatorResponse(coordinators=[refusal]))
    why = "the coordinator of group orders: GROUP_AUTHORIZATION_FAILED"
    assert find(cluster, "coordinator:orders") == Nodes([], why, "GROUP_AUTHORIZATION_FAILED")


def test_a_coordinator_of_another_cluster_is_told(cluster: ScriptedCluster) -> None:
    """Nobody knows where it is."""
    stranger = Coordinator("orders", 9, "127.0.0.1", 1)
    cluster.on("FindCoordinator", FindCoordinatorResponse(coordinators=[stranger]))
    assert "broker 9, which is not among the brokers" in find(cluster, "coordinator:orders").why


def test_the_coordinator_is_waited_for_while_its_topic_is_made(cluster: ScriptedCluster) -> None:
    """The first question makes the brokers create it; the next is answered."""
    refusal = Coordinator("orders", error_code=CODE_BY_NAME["COORDINATOR_NOT_AVAILABLE"])
    answers = [refusal, refusal, Coordinator("orders", 2, "127.0.0.1", 1)]

    def answer(received: Received) -> None:
        received.reply(FindCoordinatorResponse(coordinators=[answers.pop(0)]))

    cluster.on("FindCoordinator", answer)
    assert find(cluster, "coordinator:orders") == Nodes([2])
    assert answers == []


def test_brokers_of_before_kip_699_are_asked_for_one_key(cluster: ScriptedCluster) -> None:
    """Their answer does not name it."""
    cluster.on("ApiVersions", offering(FindCoordinator=(0, 3)))
    assert find(cluster, "coordinator:orders") == Nodes([2])
