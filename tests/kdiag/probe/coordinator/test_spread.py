"""How all groups spread over the brokers."""

from kdiag.probe.coordinator.spread import group_spread
from kdiag.wire.api.list_groups import ListedGroup, ListGroupsResponse
from kdiag.wire.api.metadata import MetadataResponsePartition, MetadataResponseTopic
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.scripted_broker import CLOSE
from scripted_kafka.scripted_cluster import ScriptedCluster


def test_each_broker_tells_its_groups_and_metadata_the_partitions() -> None:
    """Types and states are counted; a broker that does not answer, or refuses, says why."""
    with ScriptedCluster(3) as cluster:
        partitions = [
            MetadataResponsePartition(partition_index=index, leader_id=1 + index % 2)
            for index in range(5)
        ]
        cluster.topics = [MetadataResponseTopic(name="__consumer_offsets", partitions=partitions)]
        groups = [
            ListedGroup("a", "consumer", "Stable", "Consumer"),
            ListedGroup("b", "consumer", "Empty"),
            ListedGroup("c"),
        ]
        cluster.brokers[1].on("ListGroups", ListGroupsResponse(groups=groups))
        cluster.brokers[2].on("ListGroups", CLOSE)
        denied = CODE_BY_NAME["CLUSTER_AUTHORIZATION_FAILED"]
        cluster.brokers[3].on("ListGroups", ListGroupsResponse(error_code=denied))
        with cluster.client() as client:
            first, second, third = group_spread(client)
    assert (first.node_id, first.groups, first.partitions, first.error) == (1, 3, 3, None)
    assert first.types == {"consumer": 1, "classic": 2}
    assert first.states == {"Stable": 1, "Empty": 1, "unknown": 1}
    assert (second.groups, second.partitions) == (None, 2)
    assert second.error
    assert (third.rack, third.groups, third.error) == (
        "rack-3",
        None,
        "CLUSTER_AUTHORIZATION_FAILED",
    )


def test_without_the_internal_topic_nobody_leads_anything() -> None:
    """A cluster that never had a group."""
    with ScriptedCluster(1) as cluster:
        cluster.on("ListGroups", ListGroupsResponse())
        with cluster.client() as client:
            (only,) = group_spread(client)
    assert (only.groups, only.partitions) == (0, 0)
