import pytest

from kdiag.lab.controller.cluster_image import BrokerRegistration
from kdiag.lab.controller.quorum_controller import NewTopic, QuorumController
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.runtime.coordinator_topic import GROUP_TOPIC


def controller_of(*node_ids: int) -> QuorumController:
    """Return a controller that knows some brokers."""
    controller = QuorumController()
    for node_id in node_ids:
        controller.register_broker(BrokerRegistration(node_id, "localhost", 9090 + node_id))
    return controller


@pytest.mark.parametrize(("brokers", "factor"), [((1,), 1), ((1, 2), 2), ((1, 2, 3, 4), 3)])
def test_it_is_made_once_with_as_many_replicas_as_there_can_be(
    brokers: tuple[int, ...], factor: int
) -> None:
    """Compacted, with 50 partitions, up to three replicas each."""
    controller = controller_of(*brokers)
    topic = GROUP_TOPIC.ensure(controller)
    assert (topic.name, len(topic.partitions)) == ("__consumer_offsets", 50)
    assert topic.configs["cleanup.policy"] == "compact"
    assert len(topic.partitions[0].replicas) == factor
    assert GROUP_TOPIC.ensure(controller) is topic


def test_it_cannot_be_made_without_brokers() -> None:
    """As any topic."""
    with pytest.raises(RequestRefusedError):
        GROUP_TOPIC.ensure(QuorumController())


def test_a_key_belongs_to_the_partition_of_its_hash() -> None:
    """Of as many as there are, whoever has made the topic; its leader coordinates it."""
    controller = controller_of(1, 2)
    assert GROUP_TOPIC.partition_of("billing", controller.image) == 9
    assert GROUP_TOPIC.coordinator_of("billing", controller.image) is None
    controller.create_topic(NewTopic(GROUP_TOPIC.name, assignments={0: [2], 1: [1]}))
    partition = GROUP_TOPIC.partition_of("billing", controller.image)
    broker = GROUP_TOPIC.coordinator_of("billing", controller.image)
    assert broker is not None
    assert (partition, broker.node_id) == (1, 1)
