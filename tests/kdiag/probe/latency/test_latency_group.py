from collections.abc import Iterator

import pytest

from kdiag.errors import AuthorizationError, ProbeError
from kdiag.probe.latency.latency_group import probe_group
from scripted_kafka.writable_cluster import WritableCluster


@pytest.fixture
def cluster() -> Iterator[WritableCluster]:
    """Return two brokers."""
    with WritableCluster(2) as cluster:
        yield cluster


@pytest.mark.parametrize("ending", [None, KeyboardInterrupt])
def test_a_group_goes_however_the_probe_ends(
    cluster: WritableCluster, ending: type[BaseException] | None
) -> None:
    """It is coordinated by the broker that the cluster names, and has a name of kdiag's own."""
    names = []
    with cluster.client() as client:
        try:
            with probe_group(client) as group:
                names.append(group.name)
                assert group.coordinator_id == 2
                client.deadline_ns = client.clock.monotonic_ns()
                if ending is not None:
                    raise ending
        except KeyboardInterrupt:
            pass
    assert cluster.deleted_groups == names
    assert names[0].startswith("_kdiag_probe_")


def test_who_may_not_have_groups_is_told_so(cluster: WritableCluster) -> None:
    """Then there is nothing to remove."""
    cluster.refusals["FindCoordinator"] = "GROUP_AUTHORIZATION_FAILED"
    with (
        cluster.client() as client,
        pytest.raises(AuthorizationError, match="not authorized to use it"),
        probe_group(client),
    ):
        pytest.fail("there is no group")


def test_a_cluster_without_coordinators_is_told(cluster: WritableCluster) -> None:
    """It is asked again while its topic of offsets is being made, but not for ever."""
    cluster.refusals["FindCoordinator"] = "COORDINATOR_NOT_AVAILABLE"
    with cluster.client() as client:
        client.deadline_ns = client.clock.monotonic_ns() + 250_000_000
        with pytest.raises(ProbeError, match="COORDINATOR_NOT_AVAILABLE"), probe_group(client):
            pytest.fail("there is no group")
    asked = [
        each for broker in cluster.brokers.values() for each in broker.asked("FindCoordinator")
    ]
    assert len(asked) > 1


def test_a_group_that_stays_is_named(cluster: WritableCluster) -> None:
    """Whoever may not delete it has to know what is left; one that never was is no problem."""
    with (
        cluster.client() as client,
        pytest.raises(ProbeError, match=r"_kdiag_probe_\w{8}: remove it yourself"),
        probe_group(client),
    ):
        cluster.refusals["DeleteGroups"] = "GROUP_AUTHORIZATION_FAILED"
    with cluster.client() as client, probe_group(client):
        cluster.refusals["DeleteGroups"] = "GROUP_ID_NOT_FOUND"
