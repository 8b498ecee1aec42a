from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.controller.cluster_image import BrokerRegistration
from kdiag.wire.api.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)
from lab_ends.lab_client import LabClient
from tiers.cases import for_each


@for_each(
    ("asked", "count"),
    [
        (None, 1),
        ([("orders", [0])], 0),
        ([("orders", [1, 9])], 1),
        ([("nowhere", [0])], 0),
    ],
)
def test_what_moves_is_told(
    lab: LabCluster, client: LabClient, asked: list[tuple[str, list[int]]] | None, count: int
) -> None:
    """Of all topics, or of those that are asked for."""
    lab.controller.register_broker(BrokerRegistration(2, "elsewhere", 9092))
    lab.controller.reassign("orders", 1, [2])
    topics = None
    if asked is not None:
        topics = [
            ListPartitionReassignmentsTopics(name=name, partition_indexes=numbers)
            for name, numbers in asked
        ]
    request = ListPartitionReassignmentsRequest(topics=topics)
    response = client.ask(request, ListPartitionReassignmentsResponse, 0)
    told = [partition for topic in response.topics for partition in topic.partitions]
    assert len(told) == count
    for each in told:
        assert (each.partition_index, each.replicas) == (1, [2, 1])
        assert (each.adding_replicas, each.removing_replicas) == ([2], [1])
