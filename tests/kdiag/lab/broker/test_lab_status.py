import pytest

from kdiag.clock import NS_PER_S
from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.broker.lab_status import status_of
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from lab_ends.lab_client import LabClient
from lab_ends.several.stepped_lab import SteppedLab


def test_what_goes_on_is_counted(lab: LabCluster) -> None:
    """Nodes, topics, connections, requests, bytes, and what waits."""
    before = status_of(lab)
    assert (before.nodes, before.topics, before.partitions) == (1, 1, 2)
    assert (before.connections, before.requests, before.software) == (0, 0, {})
    with LabClient(lab.nodes[0].port) as client:
        request = ApiVersionsRequest(client_software_name="me", client_software_version="1")
        client.ask(request, ApiVersionsResponse, 3)
        client.ask(MetadataRequest(topics=None), MetadataResponse, 12)
        now = status_of(lab)
        assert (now.connections, now.software) == (1, {"me 1": 1})
        assert now.requests == 2
        assert 0 < now.bytes_in < now.bytes_out
        assert now.waiting["Fetch"] == 0


@pytest.mark.thorough
def test_what_brokers_send_to_each_other_is_counted_by_itself() -> None:
    """And what their partitions lack is told."""
    with SteppedLab(NewTopic("orders", 1, 3)) as lab:
        lab.advance(NS_PER_S)
        status = status_of(lab)
        assert (status.nodes, status.under_replicated, status.offline) == (3, 0, 0)
        assert (status.connections, status.bytes_in, status.bytes_out) == (0, 0, 0)
        assert status.replication_bytes > 0
        for node in lab.nodes[1:]:
            lab.stop_node(node.node_id)
        assert (status_of(lab).under_replicated, status_of(lab).offline) == (1, 0)
        lab.stop_node(1)
        assert (status_of(lab).nodes, status_of(lab).offline) == (0, 1)
