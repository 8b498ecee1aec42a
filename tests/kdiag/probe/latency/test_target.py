from collections.abc import Iterator

import pytest

from kdiag.client.fetch.position import PartitionKey
from kdiag.errors import AuthorizationError, ConfigError, ProbeError
from kdiag.probe.latency.plan import LatencyTarget
from kdiag.probe.latency.target import chosen_nodes, end_offsets, existing_target, own_target
from scripted_kafka.writable_cluster import WritableCluster


@pytest.fixture
def cluster() -> Iterator[WritableCluster]:
    """Return three brokers and a topic on two of them."""
    with WritableCluster(3) as cluster:
        for partition, leader in enumerate((1, 2, 1)):
            cluster.add("orders", partition, leader).append(*[b"x"] * partition or [b"y"])
        yield cluster


def test_brokers_are_all_or_those_that_are_wanted(cluster: WritableCluster) -> None:
    """One that does not exist is refused."""
    with cluster.client() as client:
        assert chosen_nodes(client, []) == [1, 2, 3]
        assert chosen_nodes(client, [3, 1, 3]) == [1, 3]
        with pytest.raises(ConfigError, match="there is no broker 7, but 1, 2, 3"):
            chosen_nodes(client, [7])


def test_an_own_topic_has_a_partition_on_each_broker(cluster: WritableCluster) -> None:
    """With replicas, and it goes at the end."""
    with cluster.client() as client, own_target(client, [1, 3]) as target:
        assert target.leaders == {0: 1, 1: 3}
        assert target.topic in cluster.made
    assert {key.topic for key in cluster.logs} == {"orders"}


def test_a_topic_that_is_there_has_its_partitions_on_the_chosen_brokers(
    cluster: WritableCluster,
) -> None:
    """Others are left alone."""
    with cluster.client() as client:
        target = existing_target(client, "orders", frozenset([1, 3]))
    assert target.leaders == {0: 1, 2: 1}
    assert target.topic_id == cluster.logs[PartitionKey("orders", 0)].topic_id


def test_a_topic_that_cannot_be_used_is_told_why(cluster: WritableCluster) -> None:
    """It is not there, or is led by other brokers."""
    with cluster.client() as client:
        with pytest.raises(ConfigError, match="nope cannot be used: UNKNOWN_TOPIC_OR_PARTITION"):
            existing_target(client, "nope", frozenset([1]))
        with pytest.raises(ProbeError, match="none of the brokers leads"):
            existing_target(client, "orders", frozenset([3]))


def test_partitions_end_where_their_leaders_say(cluster: WritableCluster) -> None:
    """One record, one and two."""
    with cluster.client() as client:
        target = existing_target(client, "orders", frozenset([1, 2, 3]))
        assert end_offsets(client, target) == {0: 1, 1: 1, 2: 2}


@pytest.mark.thorough
def test_a_leader_that_does_not_know_its_partition_yet_is_asked_again(
    cluster: WritableCluster,
) -> None:
    """A topic that was made just now is not known everywhere at once; but not for ever."""
    target = LatencyTarget("new", bytes(16), {0: 1})
    with cluster.client() as client:
        client.deadline_ns = client.clock.monotonic_ns() + 1_000_000_000
        with pytest.raises(ProbeError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            end_offsets(client, target)
    assert len(cluster.brokers[1].asked("ListOffsets")) > 1


def test_who_may_not_read_is_told_so(cluster: WritableCluster) -> None:
    """That is no reason to ask again."""
    cluster.logs[PartitionKey("orders", 0)].error = "TOPIC_AUTHORIZATION_FAILED"
    with cluster.client() as client:
        target = existing_target(client, "orders", frozenset([1]))
        with pytest.raises(AuthorizationError, match="orders: not authorized to read it"):
            end_offsets(client, target)
    assert len(cluster.brokers[1].asked("ListOffsets")) == 1
