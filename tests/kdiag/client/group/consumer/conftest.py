"""A scripted coordinator that assigns partitions, and a member of it that has not joined yet."""

from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.group.consumer.broker_assigned_member import BrokerAssignedMember
from scripted_kafka.assigning_cluster import AssigningCluster


@pytest.fixture
def cluster() -> Iterator[AssigningCluster]:
    """Return a broker that assigns, and takes commits."""
    with AssigningCluster() as cluster:
        cluster.let_commit()
        yield cluster


@pytest.fixture
def client(cluster: AssigningCluster) -> Iterator[ClusterClient]:
    """Return a client that knows the broker."""
    with cluster.member_client() as client:
        yield client


@pytest.fixture
def member(cluster: AssigningCluster, client: ClusterClient) -> Iterator[BrokerAssignedMember]:
    """Return a member that has not joined yet."""
    member = cluster.member(client)
    yield member
    member._close_heartbeats()


@pytest.fixture
def stable(cluster: AssigningCluster, member: BrokerAssignedMember) -> BrokerAssignedMember:
    """Return a member that owns both partitions, and has said so."""
    cluster.give(0, 1)
    assert member.poll(cluster.soon())
    cluster.broker.wait_for("ConsumerGroupHeartbeat", 2)
    cluster.listener.take()
    return member
