"""Latencies against scripted brokers that take what is written."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from threading import Event

import pytest

from delays.delaying_proxy import DelayingProxy
from kdiag.client.cluster_client import ClusterClient
from kdiag.diagnosis.latency.fetch_waits import FetchReturn, FetchWait
from kdiag.diagnosis.latency.split import LatencySplit
from kdiag.diagnosis.latency.stalls import StallPlace
from kdiag.probe.latency.commit import probe_group
from kdiag.probe.latency.measure import measure
from kdiag.probe.latency.plan import ACKS_ALL, LatencyPlan, LatencyTarget
from kdiag.probe.latency.results import LatencyResults, SeriesKind
from kdiag.probe.latency.target import existing_target, own_target
from kdiag.wire.api.offset_commit import OffsetCommitResponse
from scripted_kafka.scripted_broker import Received
from scripted_kafka.writable_cluster import WritableCluster
from tiers.attempts import measure_again

MS = 1_000_000
PLAN = LatencyPlan(interval_ns=5 * MS, duration_ns=300 * MS, warm_up_ns=60 * MS)
WRITTEN = 60
LONG_S = 30
ATTEMPTS = 8
"""How often to measure, as the machine may be busy with other tests meanwhile."""
KINDS = [SeriesKind.PRODUCE, SeriesKind.END_TO_END, SeriesKind.COMMITTED]


@pytest.fixture
def cluster() -> Iterator[WritableCluster]:
    """Return a broker."""
    with WritableCluster(1) as cluster:
        yield cluster


@contextmanager
def own_topic(cluster: WritableCluster) -> Iterator[tuple[ClusterClient, LatencyTarget]]:
    """Return a client, and a topic of kdiag's own on all brokers."""
    with (
        cluster.client() as admin,
        cluster.client() as client,
        own_target(admin, list(cluster.brokers)) as target,
    ):
        client.refresh([target.topic])
        yield client, target


def measured(cluster: WritableCluster, plan: LatencyPlan = PLAN) -> LatencyResults:
    """Return what is measured on a topic of kdiag's own, with a group of its own."""
    results = LatencyResults()
    with (
        own_topic(cluster) as (client, target),
        cluster.client() as admin,
        probe_group(admin) as group,
    ):
        measure(client, target, plan, results, group=group)
    return results


@pytest.mark.thorough
def test_records_are_followed_from_the_schedule_to_the_commit(cluster: WritableCluster) -> None:
    """Each acks has a third of them; the warm-up does not count."""
    results = measured(cluster)
    counts = {key: each.latencies.count for key, each in results.series.items()}
    for acks in (0, 1, ACKS_ALL):
        assert counts[SeriesKind.PRODUCE, acks] == WRITTEN // 3
        assert counts[SeriesKind.END_TO_END, acks] == WRITTEN // 3
        assert 0 < counts[SeriesKind.COMMITTED, acks] <= WRITTEN // 3
    assert 0 < counts[SeriesKind.COMMIT, None] <= 72
    assert (results.problems, results.warnings) == ({}, [])
    assert sorted(set(cluster.acks)) == [-1, 0, 1]
    assert len(cluster.acks) == 72
    assert all(before < after for before, after in pairwise(cluster.committed))
    assert len(cluster.deleted_groups) == 1
    assert not cluster.logs


@pytest.mark.thorough
def test_latencies_grow_from_step_to_step(cluster: WritableCluster) -> None:
    """What is read was written, and what is committed was read; acks=0 waits for the client."""
    series = measured(cluster).series
    produce, read, committed = (series[kind, 1].latencies.least for kind in KINDS)
    assert read.total_ns < committed.total_ns
    assert produce.broker_ns > 0
    handover = series[SeriesKind.PRODUCE, 0].latencies.least
    assert handover.client_ns == handover.total_ns < produce.total_ns


@pytest.mark.thorough
def test_each_broker_has_its_share() -> None:
    """Requests go to all of them in turns, and so do the means."""
    with WritableCluster(2) as cluster:
        results = measured(cluster)
    nodes = results.of(SeriesKind.PRODUCE, 1).nodes
    assert {node: each.count for node, each in nodes.items()} == {1: 10, 2: 10}
    assert nodes[1].mean.total_ns > 0
    assert {node for node, _ in results.facts} == {1, 2}


@pytest.mark.bench
@pytest.mark.parametrize("delay_ms", [5, 20, 100])
def test_a_delay_of_the_broker_is_found_and_told_to_be_the_brokers(
    cluster: WritableCluster, delay_ms: int
) -> None:
    """Within a millisecond of what a proxy in between adds, where nothing else adds to it."""
    broker = cluster.brokers[1]
    plan = PLAN._replace(acks=[1], is_end_to_end=False, interval_ns=40 * MS, duration_ns=800 * MS)
    with DelayingProxy(("127.0.0.1", broker.port)) as proxy:
        broker.port = proxy.port

        def least(delay_s: float) -> LatencySplit:
            proxy.delay_s = delay_s
            return measured(cluster, plan).of(SeriesKind.PRODUCE, 1).latencies.least

        def require_found() -> None:
            before, after = least(0), least(delay_ms / 1000)
            added_ns = after.broker_ns - before.broker_ns
            others_ns = after.network_ns + after.client_ns
            assert others_ns < 3 * MS
            assert added_ns == pytest.approx(delay_ms * MS, abs=MS)

        measure_again(require_found, ATTEMPTS)


@pytest.mark.bench
def test_answers_in_two_small_writes_stall_for_40_ms(cluster: WritableCluster) -> None:
    """Nagle's algorithm holds the second back until the first is acknowledged."""
    broker = cluster.brokers[1]
    plan = PLAN._replace(acks=[1], is_end_to_end=False, interval_ns=55 * MS, duration_ns=1500 * MS)
    with DelayingProxy(("127.0.0.1", broker.port), is_split=True) as proxy:
        broker.port = proxy.port

        def require_found() -> None:
            series = measured(cluster, plan).of(SeriesKind.PRODUCE, 1)
            stalls = [(each.place, each.stall_ms) for each in series.stalls.stalls()]
            network_ns = series.latencies.percentile(0.5).split.network_ns
            assert (StallPlace.ANSWER, 40) in stalls
            assert network_ns > 35 * MS

        measure_again(require_found, ATTEMPTS)


@pytest.mark.thorough
def test_settings_of_fetches_are_compared_side_by_side(cluster: WritableCluster) -> None:
    """While records come every 5 ms, one byte is there soon, and a thousand are not."""
    waits = [FetchWait(1, 500), FetchWait(1, 0), FetchWait(1 << 20, 100)]
    results = measured(cluster, PLAN._replace(is_end_to_end=False, sweep=waits))
    any_bytes, polling, many_bytes = results.sweep
    assert any_bytes.share(FetchReturn.EARLY_WITH_DATA) == 1.0
    assert polling.share(FetchReturn.EARLY_EMPTY, FetchReturn.EARLY_WITH_DATA) == 1.0
    assert many_bytes.share(FetchReturn.AT_WAIT_WITH_DATA) == 1.0
    assert results.of(SeriesKind.PRODUCE, 1).latencies.count == WRITTEN // 3


@pytest.mark.thorough
def test_a_topic_that_is_only_read_is_fetched_from(cluster: WritableCluster) -> None:
    """Nothing is written, and waits end where they are said to: the topic is idle."""
    cluster.add("orders", 0).append(b"a", b"b")
    plan = PLAN._replace(acks=(), sweep=[FetchWait(1, 50)])
    results = LatencyResults()
    with cluster.client() as client:
        target = existing_target(client, "orders", {1})
        measure(client, target, plan, results)
    assert results.of(SeriesKind.FETCH).latencies.count == WRITTEN
    assert results.sweep[0].share(FetchReturn.AT_WAIT_EMPTY) == 1.0
    assert (cluster.acks, cluster.committed) == ([], [])


@pytest.mark.thorough
def test_what_brokers_refuse_is_counted_by_its_name(cluster: WritableCluster) -> None:
    """There is no latency then; acks=0 never hears of it."""
    cluster.refusals["Produce"] = "NOT_ENOUGH_REPLICAS"
    results = measured(cluster, PLAN._replace(is_end_to_end=False))
    series = results.of(SeriesKind.PRODUCE, 1)
    assert series.latencies.count == 0
    assert set(series.errors) == {"NOT_ENOUGH_REPLICAS"}
    assert results.problems == {"NOT_ENOUGH_REPLICAS": "NOT_ENOUGH_REPLICAS"}
    assert results.has_latencies


@pytest.mark.thorough
def test_a_run_ends_when_it_has_moved_enough(cluster: WritableCluster) -> None:
    """The limit is a number of bytes, written and fetched."""
    results = measured(cluster, PLAN._replace(max_bytes=2000))
    assert 2000 <= results.bytes < 4500
    assert results.warnings[0].endswith("bytes (--max-bytes)")


@pytest.mark.thorough
def test_a_run_ends_when_its_time_is_up(cluster: WritableCluster) -> None:
    """What was measured until then is there."""
    results = LatencyResults()
    with own_topic(cluster) as (client, target):
        client.deadline_ns = client.clock.monotonic_ns() + 600 * MS
        measure(client, target, PLAN._replace(duration_ns=60_000 * MS), results)
    assert results.is_late
    assert 0 < results.of(SeriesKind.PRODUCE, 1).latencies.count < WRITTEN


@pytest.mark.thorough
def test_an_interruption_loses_nothing(cluster: WritableCluster) -> None:
    """Whoever watches the time may raise; topic and group go, and the latencies stay."""
    results = LatencyResults()

    def interrupt(_title: str, part: float) -> None:
        if part > 0.5:
            raise KeyboardInterrupt

    with ExitStack() as opened:
        client, target = opened.enter_context(own_topic(cluster))
        with pytest.raises(KeyboardInterrupt):
            measure(client, target, PLAN, results, on_time=interrupt)
    assert results.of(SeriesKind.PRODUCE, 1).latencies.count > 0
    assert results.facts
    assert not cluster.logs


def test_a_commit_is_answered_before_its_group_goes_though_a_run_is_interrupted(
    cluster: WritableCluster,
) -> None:
    """A broker that gets it afterwards would found the group anew, and nobody would remove it."""
    asked, interrupted = Event(), Event()

    def answer_late(received: Received) -> None:
        asked.set()
        assert interrupted.wait(LONG_S)
        received.reply(OffsetCommitResponse(topics=[]))

    def interrupt(_title: str, _part: float) -> None:
        if asked.is_set():
            interrupted.set()
            raise KeyboardInterrupt

    cluster.on("OffsetCommit", answer_late)
    plan = PLAN._replace(warm_up_ns=0)
    results = LatencyResults()
    with (
        own_topic(cluster) as (client, target),
        cluster.client() as admin,
        pytest.raises(KeyboardInterrupt),
        probe_group(admin) as group,
    ):
        measure(client, target, plan, results, group=group, on_time=interrupt)
    assert results.of(SeriesKind.COMMIT).latencies.count == 1
    assert results.warnings == []
    assert cluster.deleted_groups == [group.name]
