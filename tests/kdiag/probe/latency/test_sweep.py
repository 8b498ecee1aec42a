from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import PartitionKey
from kdiag.diagnosis.latency.fetch_waits import FetchReturn, FetchWait
from kdiag.probe.latency.plan import LatencyTarget
from kdiag.probe.latency.results import LatencyResults
from kdiag.probe.latency.sweep import FetchSweep
from scripted_kafka.writable_cluster import WritableCluster

MS = 1_000_000


@pytest.fixture
def cluster() -> Iterator[WritableCluster]:
    """Return two brokers and a topic with three partitions."""
    with WritableCluster(2) as cluster:
        for partition, leader in enumerate((1, 2, 1)):
            cluster.add("orders", partition, leader)
        yield cluster


def swept(
    cluster: WritableCluster, client: ClusterClient, waits: list[FetchWait], count: int
) -> tuple[FetchSweep, LatencyResults]:
    """Fetch until so many fetches have returned with each setting."""
    topic_id = cluster.logs[PartitionKey("orders", 0)].topic_id
    target = LatencyTarget("orders", topic_id, {0: 1, 1: 2, 2: 1})
    results = LatencyResults()
    sweep = FetchSweep(client, target, dict.fromkeys(range(3), 0), waits, results)
    until_ns = client.clock.monotonic_ns() + 20_000 * MS
    while client.clock.monotonic_ns() < until_ns and not results.has_errors:
        sweep.keep_fetching()
        client.client.poll(client.clock.monotonic_ns() + MS)
        if all(each.latencies.count >= count for each in sweep.tallies):
            break
    return sweep, results


def test_each_setting_has_a_connection_to_each_broker(cluster: WritableCluster) -> None:
    """So that a long wait keeps no short one waiting."""
    waits = [FetchWait(1, 0), FetchWait(1, 40)]
    with cluster.client() as client:
        sweep, _ = swept(cluster, client, waits, 4)
    assert len(sweep.connections) == 4
    polling, waiting = sweep.tallies
    assert polling.share(FetchReturn.EARLY_EMPTY) == 1.0
    assert waiting.share(FetchReturn.AT_WAIT_EMPTY) == 1.0
    assert waiting.latencies.least.total_ns >= 39 * MS


@pytest.mark.thorough
def test_what_was_fetched_is_not_fetched_again(cluster: WritableCluster) -> None:
    """The first fetch brings all, those that follow nothing."""
    for partition in range(3):
        cluster.logs[PartitionKey("orders", partition)].append(b"a", b"b")
    with cluster.client() as client:
        sweep, results = swept(cluster, client, [FetchWait(1, 250)], 6)
    (tally,) = sweep.tallies
    assert tally.returned[FetchReturn.EARLY_WITH_DATA] == 2
    assert tally.returned[FetchReturn.AT_WAIT_EMPTY] >= 4
    assert tally.bytes == results.bytes > 0


@pytest.mark.parametrize("is_broken", [True, False])
def test_what_goes_wrong_is_told(cluster: WritableCluster, *, is_broken: bool) -> None:
    """Errors by their names, and bytes that are no records."""
    log = cluster.logs[PartitionKey("orders", 1)]
    if is_broken:
        log.batches.append((0, 1, bytes(16) + b"\x09" + bytes(80)))
    else:
        log.error = "TOPIC_AUTHORIZATION_FAILED"
    with cluster.client() as client:
        _, results = swept(cluster, client, [FetchWait(1, 20)], 1000)
    (problem,) = results.problems
    assert ("is not a magic" if is_broken else "TOPIC_AUTHORIZATION_FAILED") in problem
