from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import PartitionKey
from kdiag.diagnosis.latency.split import LatencySplit
from kdiag.errors import AuthorizationError, ProbeError
from kdiag.probe.latency.commit import Committing, PendingCommit, ProbeGroup, probe_group
from kdiag.probe.latency.plan import LatencyTarget
from kdiag.probe.latency.record_timings import RecordStart
from kdiag.probe.latency.results import LatencyResults, SeriesKind
from scripted_kafka.writable_cluster import WritableCluster

START = RecordStart(due_ns=100, acks=1, node_id=1)
ARRIVAL = LatencySplit(broker_ns=1000)


@pytest.fixture
def cluster() -> Iterator[WritableCluster]:
    """Return a broker with a topic."""
    with WritableCluster(1) as cluster:
        cluster.add("orders", 0)
        yield cluster


def committing(
    client: ClusterClient, cluster: WritableCluster, results: LatencyResults
) -> Committing:
    """Return what commits for a group."""
    target = LatencyTarget("orders", cluster.logs[PartitionKey("orders", 0)].topic_id, {0: 1})
    return Committing(client, target, ProbeGroup("group", 1), results)


def settle(client: ClusterClient, commits: Committing) -> None:
    """Wait for all answers."""
    client.client.await_condition(lambda: not commits.connection.pending)


def test_one_commit_waits_for_another_and_only_the_newest_is_sent(
    cluster: WritableCluster,
) -> None:
    """Of three that come at once the second is never needed."""
    results = LatencyResults()
    with cluster.client() as client:
        commits = committing(client, cluster, results)
        for offset in (1, 2, 3):
            commits.commit(PendingCommit(0, offset, client.clock.epoch_ns()))
        settle(client, commits)
    assert cluster.committed == [1, 3]
    assert results.of(SeriesKind.COMMIT).latencies.count == 2


@pytest.mark.parametrize("is_arrival_first", [True, False])
def test_a_commit_ends_the_timing_of_its_last_record(
    cluster: WritableCluster, *, is_arrival_first: bool
) -> None:
    """Once both are known, whichever comes first."""
    results = LatencyResults()
    with cluster.client() as client:
        commits = committing(client, cluster, results)
        pending = PendingCommit(0, 1, client.clock.epoch_ns())
        if is_arrival_first:
            commits.handle_arrival(pending, START, ARRIVAL)
        commits.commit(pending)
        settle(client, commits)
        if not is_arrival_first:
            assert not results.of(SeriesKind.COMMITTED, 1).latencies.count
            commits.handle_arrival(pending, START, ARRIVAL)
    committed = results.of(SeriesKind.COMMITTED, 1).latencies
    commit = results.of(SeriesKind.COMMIT).latencies
    assert committed.count == commit.count == 1
    assert committed.most.total_ns == commit.most.total_ns + 1000


def test_a_commit_that_is_refused_has_no_latency(cluster: WritableCluster) -> None:
    """The next is sent all the same."""
    cluster.refusals["OffsetCommit"] = "GROUP_AUTHORIZATION_FAILED"
    results = LatencyResults()
    with cluster.client() as client:
        commits = committing(client, cluster, results)
        commits.commit(PendingCommit(0, 1, 0))
        commits.commit(PendingCommit(0, 2, 0))
        settle(client, commits)
    assert cluster.committed == [1, 2]
    assert results.of(SeriesKind.COMMIT).errors == {"GROUP_AUTHORIZATION_FAILED": 2}


@pytest.mark.thorough
def test_at_the_end_only_what_was_sent_is_waited_for(cluster: WritableCluster) -> None:
    """A broker that does not answer is told, since it may have the group still."""
    results = LatencyResults()
    with cluster.client() as client:
        commits = committing(client, cluster, results)
        for offset in (1, 2):
            commits.commit(PendingCommit(0, offset, client.clock.epoch_ns()))
        commits.end()
        assert (cluster.committed, results.warnings) == ([1], [])
        cluster.on("OffsetCommit", lambda _: None)
        commits.commit(PendingCommit(0, 3, client.clock.epoch_ns()))
        commits.end()
    assert results.warnings == ["the last commit had no answer: group group may be left"]


@pytest.fixture
def brokers() -> Iterator[WritableCluster]:
    """Return two brokers."""
    with WritableCluster(2) as brokers:
        yield brokers


@pytest.mark.parametrize("ending", [None, KeyboardInterrupt])
def test_a_group_goes_however_the_probe_ends(
    brokers: WritableCluster, ending: type[BaseException] | None
) -> None:
    """It is coordinated by the broker that the cluster names, and has a name of kdiag's own."""
    names = []
    with brokers.client() as client:
        try:
            with probe_group(client) as group:
                names.append(group.name)
                assert group.coordinator_id == 2
                client.deadline_ns = client.clock.monotonic_ns()
                if ending is not None:
                    raise ending
        except KeyboardInterrupt:
            pass
    assert brokers.deleted_groups == names
    assert names[0].startswith("_kdiag_probe_")


def test_who_may_not_have_groups_is_told_so(brokers: WritableCluster) -> None:
    """Then there is nothing to remove."""
    brokers.refusals["FindCoordinator"] = "GROUP_AUTHORIZATION_FAILED"
    with (
        brokers.client() as client,
        pytest.raises(AuthorizationError, match="not authorized to use it"),
        probe_group(client),
    ):
        pytest.fail("there is no group")


@pytest.mark.thorough
def test_a_cluster_without_coordinators_is_told(brokers: WritableCluster) -> None:
    """It is asked again while its topic of offsets is being made, but not for ever."""
    brokers.refusals["FindCoordinator"] = "COORDINATOR_NOT_AVAILABLE"
    with brokers.client() as client:
        client.deadline_ns = client.clock.monotonic_ns() + 1_000_000_000
        with pytest.raises(ProbeError, match="COORDINATOR_NOT_AVAILABLE"), probe_group(client):
            pytest.fail("there is no group")
    asked = [
        each for broker in brokers.brokers.values() for each in broker.asked("FindCoordinator")
    ]
    assert len(asked) > 1


def test_a_group_that_stays_is_named(brokers: WritableCluster) -> None:
    """Whoever may not delete it has to know what is left; one that never was is no problem."""
    with (
        brokers.client() as client,
        pytest.raises(ProbeError, match=r"_kdiag_probe_\w{8}: remove it yourself"),
        probe_group(client),
    ):
        brokers.refusals["DeleteGroups"] = "GROUP_AUTHORIZATION_FAILED"
    with brokers.client() as client, probe_group(client):
        brokers.refusals["DeleteGroups"] = "GROUP_ID_NOT_FOUND"
