"""A scripted cluster whose second broker coordinates every group."""

from collections.abc import Iterator
from contextlib import contextmanager

from kdiag.wire.api.describe_cluster import DescribeClusterResponse
from kdiag.wire.api.describe_configs import DescribeConfigsResponse
from kdiag.wire.api.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from kdiag.wire.api.describe_log_dirs import DescribeLogDirsResponse
from kdiag.wire.api.describe_transactions import DescribeTransactionsResponse
from kdiag.wire.api.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kdiag.wire.api.list_groups import ListedGroup, ListGroupsResponse
from kdiag.wire.api.metadata import MetadataResponsePartition, MetadataResponseTopic
from scripted_kafka.scripted_broker import Received
from scripted_kafka.scripted_cluster import ScriptedCluster


def describe_as_dead(received: Received) -> None:
    """Answer that there is no such group, as a broker that coordinates it."""
    request = received.message()
    assert isinstance(request, DescribeGroupsRequest)
    groups = [DescribedGroup(group_id=each, group_state="Dead") for each in request.groups]
    received.reply(DescribeGroupsResponse(groups=groups))


@contextmanager
def coordinating_cluster(count: int = 3) -> Iterator[ScriptedCluster]:
    """Return brokers that all name the second; it has the group `orders`, KIP-848 and Stable."""
    with ScriptedCluster(count) as cluster:
        second = cluster.brokers[2]
        cluster.on("DescribeCluster", DescribeClusterResponse())

        def name_the_second(received: Received) -> None:
            request = received.message()
            assert isinstance(request, FindCoordinatorRequest)
            if received.header.version < 4:
                answer = FindCoordinatorResponse(node_id=2, host="127.0.0.1", port=second.port)
            else:
                keys = request.coordinator_keys
                named = [Coordinator(key, 2, "127.0.0.1", second.port) for key in keys]
                answer = FindCoordinatorResponse(coordinators=named)
            received.reply(answer)

        nodes = list(cluster.brokers)
        partition = MetadataResponsePartition(
            partition_index=0, leader_id=2, replica_nodes=nodes, isr_nodes=nodes
        )
        cluster.topics = [
            MetadataResponseTopic(name=name, partitions=[partition])
            for name in ("__consumer_offsets", "__transaction_state")
        ]
        cluster.on("FindCoordinator", name_the_second)
        cluster.on("DescribeConfigs", DescribeConfigsResponse())
        cluster.on("DescribeLogDirs", DescribeLogDirsResponse())
        cluster.on("DescribeTransactions", DescribeTransactionsResponse())
        cluster.on("ListGroups", ListGroupsResponse())
        cluster.on("DescribeGroups", describe_as_dead)
        groups = [ListedGroup("orders", "consumer", "Stable", "Consumer")]
        second.on("ListGroups", ListGroupsResponse(groups=groups))
        yield cluster
