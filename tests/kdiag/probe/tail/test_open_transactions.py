"""Open transactions that hold records back."""

from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import FetchPosition, PartitionKey
from kdiag.probe.tail.open_transactions import HeldBack, HeldBackWatch, describe_held_back
from kdiag.wire.api.describe_producers import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from kdiag.wire.api.describe_transactions import DescribeTransactionsResponse
from kdiag.wire.api.describe_transactions import TransactionState as Described
from kdiag.wire.api.list_transactions import ListTransactionsResponse, TransactionState
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.scripted_broker import CLOSE
from scripted_kafka.scripted_cluster import ScriptedCluster

ZERO, ONE = PartitionKey("orders", 0), PartitionKey("orders", 1)
HELD = {ZERO: HeldBack(1, 10, 15), ONE: HeldBack(1, 3, 4)}
HOUR_MS = 3_600_000


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Broker 1 leads, broker 2 coordinates; nobody tells anything."""
    with ScriptedCluster(2) as cluster:
        for name in ("DescribeProducers", "ListTransactions", "DescribeTransactions"):
            cluster.on(name, CLOSE)
        yield cluster


@pytest.fixture
def client(cluster: ScriptedCluster) -> Iterator[ClusterClient]:
    """A client of the cluster."""
    with cluster.client() as client:
        yield client


def producers(*starts: int, partition: int = 0, error: str = "NONE") -> PartitionResponse:
    """Return the producers 70, 71 ... whose transactions begin at these offsets; -1 is none."""
    states = [
        ProducerState(70 + n, current_txn_start_offset=start, last_timestamp=HOUR_MS)
        for n, start in enumerate(starts)
    ]
    return PartitionResponse(partition, CODE_BY_NAME[error], active_producers=states)


def told(*partitions: PartitionResponse) -> DescribeProducersResponse:
    """Return what a leader tells."""
    return DescribeProducersResponse(topics=[TopicResponse("orders", list(partitions))])


def test_a_transaction_is_told_with_its_name_and_its_age(
    client: ClusterClient, cluster: ScriptedCluster
) -> None:
    """One line for all that it holds back; of several it is the first."""
    cluster.brokers[1].on(
        "DescribeProducers", told(producers(12, 10, -1), producers(-1, 3, partition=1))
    )
    cluster.on("ListTransactions", ListTransactionsResponse())
    second = cluster.brokers[2]
    named = TransactionState("writer", 71, "Ongoing")
    second.on("ListTransactions", ListTransactionsResponse(transaction_states=[named]))
    began_ms = client.clock.epoch_ns() // 1_000_000 - 90_000
    state = Described(0, "writer", "Ongoing", 60_000, began_ms, 71)
    second.on("DescribeTransactions", DescribeTransactionsResponse(transaction_states=[state]))

    (line,) = describe_held_back(client, HELD)

    assert line.startswith(
        "orders[0@10,1@3]: 6 offsets from here on held back by an open transaction: "
        "transactional id writer, producer id 71, open since 2"
    )
    assert line.endswith(" UTC (90 s ago)")


def test_without_a_coordinator_the_leader_tells_what_it_knows(
    client: ClusterClient, cluster: ScriptedCluster
) -> None:
    """The time of the last record, and no name."""
    cluster.brokers[1].on("DescribeProducers", told(producers(10)))
    (line,) = describe_held_back(client, {ZERO: HELD[ZERO]})
    assert "transaction: producer id 70, its last record is of 1970-01-01 01:00:00 UTC (" in line


def test_without_a_leader_it_is_said_that_it_is_not_known(
    client: ClusterClient, cluster: ScriptedCluster
) -> None:
    """It does not answer, refuses, or is not there."""
    line = "orders[1@3]: 1 offset from here on held back by an open transaction: which one its"
    assert describe_held_back(client, {ONE: HELD[ONE]})[0].startswith(line)
    refused = producers(3, partition=1, error="TOPIC_AUTHORIZATION_FAILED")
    cluster.brokers[1].on("DescribeProducers", told(refused))
    assert describe_held_back(client, {ONE: HELD[ONE]})[0].startswith(line)
    assert describe_held_back(client, {ONE: HeldBack(None, 3, 4)})[0].startswith(line)


def test_a_transaction_that_has_ended_meanwhile_is_not_told(
    client: ClusterClient, cluster: ScriptedCluster
) -> None:
    """The leader says that none is open."""
    cluster.brokers[1].on("DescribeProducers", told(producers(-1)))
    assert describe_held_back(client, {ZERO: HELD[ZERO]}) == []


def test_only_who_does_not_get_on_between_two_looks_is_held_back() -> None:
    """Told once, until it has got on."""
    position = FetchPosition(
        key=ZERO, offset=10, leader_id=1, last_stable_offset=10, high_watermark=15
    )
    watch = HeldBackWatch()
    positions = {ZERO: position}
    assert watch.look(positions) == {}
    assert watch.look(positions) == {ZERO: HELD[ZERO]}
    position.high_watermark = 16
    assert watch.look(positions) == {}
    position.offset = position.last_stable_offset = 16
    assert watch.look(positions) == {}
    position.high_watermark = 17
    assert watch.look(positions) == {}
    assert watch.look(positions) == {ZERO: HeldBack(1, 16, 17)}
