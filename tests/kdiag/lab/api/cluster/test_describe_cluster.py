import pytest

from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.wire.api.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient


@pytest.mark.parametrize("version", range(3))
def test_brokers_are_told(lab: LabCluster, client: LabClient, version: int) -> None:
    """With the id of the cluster."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    response = client.ask(request, DescribeClusterResponse, version)
    assert [broker.broker_id for broker in response.brokers] == [1]
    assert response.cluster_id == lab.controller.image.cluster_id
    assert response.controller_id == 1
    assert response.cluster_authorized_operations > 0


@pytest.mark.parametrize(
    ("endpoint_type", "error"), [(2, "MISMATCHED_ENDPOINT_TYPE"), (3, "UNSUPPORTED_ENDPOINT_TYPE")]
)
def test_a_broker_tells_no_controllers(client: LabClient, endpoint_type: int, error: str) -> None:
    """As Kafka's do not (KIP-919)."""
    request = DescribeClusterRequest(endpoint_type=endpoint_type)
    response = client.ask(request, DescribeClusterResponse, 1)
    assert error_name(response.error_code) == error
    assert response.brokers == []


@pytest.mark.parametrize(("is_asked", "told"), [(False, {1: False}), (True, {1: False, 2: True})])
def test_brokers_that_were_stopped_are_told_if_that_is_asked_for(
    *, is_asked: bool, told: dict[int, bool]
) -> None:
    """As fenced ones, until they run again (KIP-1073)."""
    with LabCluster(LabSettings(node_count=2)) as lab, LabClient(lab.nodes[0].port) as client:
        lab.stop_node(2)
        request = DescribeClusterRequest(include_fenced_brokers=is_asked)
        response = client.ask(request, DescribeClusterResponse, 2)
        assert {each.broker_id: each.is_fenced for each in response.brokers} == told
        lab.start_node(2)
        response = client.ask(request, DescribeClusterResponse, 2)
        assert {each.broker_id: each.is_fenced for each in response.brokers} == {1: False, 2: False}
