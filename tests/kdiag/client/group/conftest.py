"""A scripted coordinator, and a client and a member whose clock can be advanced by hours."""

from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from scripted_kafka.member_cluster import MemberCluster, PlainCoordinator


@pytest.fixture
def cluster() -> Iterator[MemberCluster]:
    """Return a broker that coordinates the group."""
    with MemberCluster() as cluster:
        yield cluster


@pytest.fixture
def client(cluster: MemberCluster) -> Iterator[ClusterClient]:
    """Return a client that knows the broker."""
    with cluster.member_client() as client:
        yield client


@pytest.fixture
def member(cluster: MemberCluster, client: ClusterClient) -> Iterator[PlainCoordinator]:
    """Return a member that has not joined yet."""
    member = PlainCoordinator(client, cluster.settings)
    yield member
    member._close_heartbeats()
