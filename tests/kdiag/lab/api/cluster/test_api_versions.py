from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.wire import api_keys
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import Versions
from lab_ends.lab_client import LabClient
from tiers.cases import for_each

SOFTWARE = {"client_software_name": "kdiag", "client_software_version": "1.0"}


def ask(client: LabClient, version: int, **fields: str | int) -> ApiVersionsResponse:
    """Return what a node tells."""
    return client.ask(ApiVersionsRequest(**SOFTWARE, **fields), ApiVersionsResponse, version)  # type: ignore[arg-type]


@for_each("version", range(5))
def test_exactly_what_the_node_speaks_is_told(
    lab: LabCluster, client: LabClient, version: int
) -> None:
    """But for Produce, which begins at 0 for old librdkafka (KAFKA-18659)."""
    response = ask(client, version)
    told = {
        each.api_key: Versions(each.min_version, each.max_version) for each in response.api_keys
    }
    spoken = dict(lab.nodes[0].dispatch.node.versions)
    spoken[api_keys.PRODUCE] = Versions(0, spoken[api_keys.PRODUCE].high)
    assert told == spoken
    assert error_name(response.error_code) == "NONE"


def test_the_software_of_a_client_is_recorded(lab: LabCluster, client: LabClient) -> None:
    """From version 3 on (KIP-511)."""
    ask(client, 2)
    assert not lab.nodes[0].processor.selector.metrics.connections_by_client
    ask(client, 3)
    assert lab.nodes[0].processor.selector.metrics.connections_by_client == {("kdiag", "1.0"): 1}


@for_each("name", ["", "-kdiag", "kd iag", "kdiag\n"])
def test_a_name_that_no_software_has_is_refused(client: LabClient, name: str) -> None:
    """It could be anything in a log or a metric."""
    request = ApiVersionsRequest(client_software_name=name, client_software_version="1")
    response = client.ask(request, ApiVersionsResponse, 3)
    assert error_name(response.error_code) == "INVALID_REQUEST"


def test_features_that_clients_need_are_finalized(client: LabClient) -> None:
    """Those whose lowest level is 0 are told as supported from version 4 on only (KIP-1022)."""
    for version, supported in (
        (3, {}),
        (4, {"group.version": (0, 1), "transaction.version": (0, 2)}),
    ):
        response = ask(client, version)
        told = {
            each.name: (each.min_version, each.max_version) for each in response.supported_features
        }
        assert told == supported
        levels = {each.name: each.max_version_level for each in response.finalized_features}
        assert levels == {"group.version": 1, "transaction.version": 2}
        assert response.finalized_features_epoch >= 0
