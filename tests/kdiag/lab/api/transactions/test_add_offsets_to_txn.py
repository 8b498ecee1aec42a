import pytest

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.runtime.coordinator_topic import GROUP_TOPIC, CoordinatorTopic
from lab_ends.transacting_client import NAME, TransactingClient


@pytest.mark.parametrize("version", range(5))
def test_the_groups_partition_becomes_part_of_the_transaction(
    lab: LabCluster, producer: TransactingClient, version: int
) -> None:
    """The topic is made if nobody has asked for it before."""
    assert producer.add_group("billing", version) == "NONE"
    metadata = lab.nodes[0].transactions.find(NAME)
    assert metadata is not None
    number = GROUP_TOPIC.partition_of("billing", lab.controller.image)
    assert metadata.now.partitions == {("__consumer_offsets", number)}


def test_a_fenced_producer_adds_none(producer: TransactingClient) -> None:
    """An older client is told of its epoch."""
    producer.producer_epoch += 1
    assert producer.add_group("billing", 1) == "INVALID_PRODUCER_EPOCH"
    assert producer.add_group("billing", 2) == "PRODUCER_FENCED"


def test_a_topic_that_cannot_be_made_is_told(
    producer: TransactingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client may ask again."""

    def refuse(*_: object) -> None:
        raise RequestRefusedError("POLICY_VIOLATION", "no more topics")

    monkeypatch.setattr(CoordinatorTopic, "ensure", refuse)
    assert producer.add_group("billing") == "COORDINATOR_NOT_AVAILABLE"
