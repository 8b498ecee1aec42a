from collections.abc import Iterator, Sequence

import pytest

from kdiag.clock import NS_PER_S
from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.wire.api.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient
from lab_ends.one_node import batch
from lab_ends.several.image_waits import until_image
from lab_ends.several.stepped_lab import SteppedLab

ORDERS = TopicPartitionOperationKey("orders", 0)


@pytest.fixture
def lab() -> Iterator[LabCluster]:
    """Return three brokers; two have a partition."""
    topics = (NewTopic("orders", assignments={0: (1, 2)}),)
    with LabCluster(LabSettings(topics, node_count=3)) as running:
        yield running


def reassign(lab: LabCluster, replicas: Sequence[int] | None, *, is_any_count: bool = True) -> str:
    """Have the partition move; return the error."""
    partition = ReassignablePartition(
        partition_index=0, replicas=None if replicas is None else list(replicas)
    )
    topic = ReassignableTopic(name="orders", partitions=[partition])
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=is_any_count, topics=[topic]
    )
    with LabClient(lab.nodes[0].port) as client:
        response = client.ask(request, AlterPartitionReassignmentsResponse, 1)
    return error_name(response.responses[0].partitions[0].error_code)


def test_a_partition_is_moved_or_refused(lab: LabCluster) -> None:
    """By its replicas, and by their number if that is to stay."""
    assert reassign(lab, None) == "NO_REASSIGNMENT_IN_PROGRESS"
    assert reassign(lab, [1, 1]) == "INVALID_REPLICA_ASSIGNMENT"
    assert reassign(lab, [1], is_any_count=False) == "INVALID_REPLICATION_FACTOR"
    assert reassign(lab, [3, 1], is_any_count=False) == "NONE"
    until_image(
        lab.controller, lambda image: image.topics["orders"].partitions[0].replicas == (3, 1)
    )
    assert not lab.controller.image.topics["orders"].partitions[0].adding


def test_whoever_is_added_has_all_before_others_are_gone() -> None:
    """The log of who is removed is deleted; another leads then."""
    with SteppedLab(NewTopic("orders", assignments={0: (1, 2)})) as lab:
        lab.produce(ORDERS, batch(3))
        lab.until(lambda: lab.answers)
        lab.paused = {3}
        lab.controller.reassign("orders", 0, [3, 2])
        lab.advance(NS_PER_S)
        assert lab.registration(ORDERS).replicas == (3, 2, 1)
        assert lab.registration(ORDERS).adding == (3,)
        lab.paused = set()
        lab.until(lambda: lab.registration(ORDERS).replicas == (3, 2))
        assert lab.registration(ORDERS).leader in {2, 3}
        assert ORDERS not in lab.node(1).replicas.partitions
        assert not (lab.node(1).replicas.logs.folder / "orders-0").exists()
        assert lab.contents(ORDERS) == [[(0, 0)]] * 2


def test_a_move_can_be_cancelled() -> None:
    """Who was to be added has it no more."""
    with SteppedLab(NewTopic("orders", assignments={0: (1, 2)})) as lab:
        lab.paused = {3}
        lab.controller.reassign("orders", 0, [3])
        assert ORDERS in lab.node(3).replicas.partitions
        lab.controller.reassign("orders", 0, None)
        assert lab.registration(ORDERS).replicas == (1, 2)
        assert ORDERS not in lab.node(3).replicas.partitions
