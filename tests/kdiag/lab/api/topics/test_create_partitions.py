import pytest

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.wire.api.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient


@pytest.mark.parametrize("version", range(4))
def test_a_topic_has_more_partitions_when_it_is_answered(
    lab: LabCluster, client: LabClient, version: int
) -> None:
    """Placed by the broker, or as they are given."""
    for count, assignments in (
        (3, None),
        (4, [CreatePartitionsAssignment(broker_ids=[1])]),
    ):
        asked = CreatePartitionsTopic(name="orders", count=count, assignments=assignments)
        request = CreatePartitionsRequest(topics=[asked])
        (result,) = client.ask(request, CreatePartitionsResponse, version).results
        assert result.error_code == 0
        assert len(lab.controller.image.topics["orders"].partitions) == count


def test_each_topic_has_its_error(lab: LabCluster, client: LabClient) -> None:
    """Fewer partitions are none of them."""
    lab.controller.create_topic(NewTopic("twice"))
    asked = [
        CreatePartitionsTopic(name=name, count=count, assignments=None)
        for name, count in (("orders", 1), ("nothing", 3), ("twice", 2), ("twice", 3))
    ]
    request = CreatePartitionsRequest(topics=asked)
    results = client.ask(request, CreatePartitionsResponse, 3).results
    assert {each.name: error_name(each.error_code) for each in results} == {
        "orders": "INVALID_PARTITIONS",
        "nothing": "UNKNOWN_TOPIC_OR_PARTITION",
        "twice": "INVALID_REQUEST",
    }
