from collections.abc import Iterator, Sequence

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.network.metadata import LeaderNews
from kdiag.probe.latency.connection import OwnConnection
from kdiag.probe.latency.load import FetchLoad, ProduceLoad
from kdiag.probe.latency.plan import ACKS_ALL, LatencyPlan, LatencyTarget
from kdiag.probe.latency.record_timings import RecordTimings
from kdiag.probe.latency.results import LatencyResults, SeriesKind
from scripted_kafka.writable_cluster import WritableCluster


@pytest.fixture
def cluster() -> Iterator[WritableCluster]:
    """Return two brokers, each with a partition."""
    with WritableCluster(2) as cluster:
        cluster.add("orders", 0, 1)
        cluster.add("orders", 1, 2)
        yield cluster


def target(cluster: WritableCluster) -> LatencyTarget:
    """Return its topic."""
    topic_id = cluster.logs[PartitionKey("orders", 0)].topic_id
    return LatencyTarget("orders", topic_id, {0: 1, 1: 2})


def settle(client: ClusterClient, connections: Sequence[OwnConnection]) -> None:
    """Wait for all answers."""
    client.client.await_condition(lambda: not any(each.pending for each in connections))


def test_each_acks_is_written_to_each_broker(cluster: WritableCluster) -> None:
    """One kind for each pair; acks=0 is over once the system has it."""
    results = LatencyResults()
    with cluster.client() as client:
        load = ProduceLoad(client, target(cluster), LatencyPlan(), results)
        for kind in range(len(load.connections)):
            load.send(kind, client.clock.epoch_ns())
        settle(client, load.connections)
        cluster.brokers[2].wait_for("Produce", 3)
    assert sorted(cluster.acks) == [-1, -1, 0, 0, 1, 1]
    for acks in (0, 1, ACKS_ALL):
        series = results.of(SeriesKind.PRODUCE, acks)
        assert sorted(series.nodes) == [1, 2]
        assert (series.latencies.most.broker_ns > 0) == (acks != 0)
    assert results.bytes == 6 * 170


@pytest.mark.parametrize("is_known", [True, False])
def test_writes_and_fetches_go_to_the_leader_that_an_answer_names(
    cluster: WritableCluster, *, is_known: bool
) -> None:
    """KIP-951: one of each is refused, and metadata are not asked for; an older leader is not."""
    results = LatencyResults()
    with cluster.client() as client:
        load = ProduceLoad(client, target(cluster), LatencyPlan(acks=[1]), results)
        fetches = FetchLoad(client, target(cluster), {0: 0, 1: 0}, results)
        asked = sum(len(each.asked("Metadata")) for each in cluster.brokers.values())
        if not is_known:
            brokers = {1: client.cluster.brokers[1]}
            client.cluster = client.cluster._replace(brokers=brokers)
        cluster.names_leaders = True
        cluster.logs[PartitionKey("orders", 0)].leader = 2
        cluster.logs[PartitionKey("orders", 0)].epoch = 7
        for _ in range(3):
            load.send(0, client.clock.epoch_ns())
            settle(client, load.connections)
            fetches.send(0, client.clock.epoch_ns())
            settle(client, fetches.connections)
        assert load.connections[0].node_id == fetches.connections[0].node_id == 2
        load.connections[0].follow(LeaderNews(1, 6))
        assert load.connections[0].node_id == 2
    metadata = sum(len(each.asked("Metadata")) for each in cluster.brokers.values())
    assert (len(cluster.logs[PartitionKey("orders", 0)].batches), metadata) == (2, asked)
    for kind, acks in ((SeriesKind.PRODUCE, 1), (SeriesKind.FETCH, None)):
        series = results.of(kind, acks)
        assert series.errors == {"NOT_LEADER_OR_FOLLOWER": 1}
        assert {node: each.count for node, each in series.nodes.items()} == {2: 2}


def test_a_record_that_is_refused_goes_nowhere(cluster: WritableCluster) -> None:
    """Its timing is given up."""
    cluster.refusals["Produce"] = "MESSAGE_TOO_LARGE"
    timings = RecordTimings(lambda *_: pytest.fail("it has arrived"))
    results = LatencyResults()
    with cluster.client() as client:
        plan = LatencyPlan(acks=[1])
        load = ProduceLoad(client, target(cluster), plan, results, timings)
        load.send(0, client.clock.epoch_ns())
        assert len(timings) == 1
        settle(client, load.connections)
    assert len(timings) == 0
    assert results.of(SeriesKind.PRODUCE, 1).errors == {"MESSAGE_TOO_LARGE": 1}


def test_fetches_wait_for_nothing(cluster: WritableCluster) -> None:
    """At the end of a partition there is nothing, and that is told at once."""
    results = LatencyResults()
    with cluster.client() as client:
        load = FetchLoad(client, target(cluster), {0: 0, 1: 0}, results)
        for kind in (0, 1, 0):
            load.send(kind, client.clock.epoch_ns())
        settle(client, load.connections)
    nodes = results.of(SeriesKind.FETCH).nodes
    assert {node: each.count for node, each in nodes.items()} == {1: 2, 2: 1}


def test_a_fetch_that_is_refused_has_no_latency(cluster: WritableCluster) -> None:
    """It is counted by the error's name."""
    cluster.logs[PartitionKey("orders", 0)].error = "TOPIC_AUTHORIZATION_FAILED"
    results = LatencyResults()
    with cluster.client() as client:
        load = FetchLoad(client, target(cluster), {0: 0, 1: 0}, results)
        load.send(0, client.clock.epoch_ns())
        settle(client, load.connections)
    series = results.of(SeriesKind.FETCH)
    assert (series.latencies.count, series.errors) == (0, {"TOPIC_AUTHORIZATION_FAILED": 1})
