from kdiag.lab.api.call import NOT_ASKED
from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.controller.cluster_image import BrokerRegistration
from kdiag.wire.api.metadata import MetadataResponse


def test_brokers_are_told_by_id(lab: LabCluster) -> None:
    """In whatever order they have registered."""
    services = lab.nodes[0].dispatch.node
    for node_id in (9, 4):
        lab.controller.register_broker(BrokerRegistration(node_id, "localhost", 9092))
    assert [broker.node_id for broker in services.brokers] == [1, 4, 9]


def test_operations_that_are_not_asked_for_are_not_told() -> None:
    """The number for that is the default of the messages."""
    assert MetadataResponse().cluster_authorized_operations == NOT_ASKED
