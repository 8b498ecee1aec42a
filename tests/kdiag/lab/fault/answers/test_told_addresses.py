from typing import Any

from kdiag.lab.fault.answers.told_addresses import TELLING, told_addresses
from kdiag.wire import api_keys
from kdiag.wire.api.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from kdiag.wire.api.fetch import FetchResponse
from kdiag.wire.api.fetch import NodeEndpoint as FetchEndpoint
from kdiag.wire.api.find_coordinator import Coordinator, FindCoordinatorResponse
from kdiag.wire.api.heartbeat import HeartbeatResponse
from kdiag.wire.api.metadata import MetadataResponse, MetadataResponseBroker
from kdiag.wire.api.produce import NodeEndpoint, ProduceResponse
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.schema import Struct, fields_of
from tiers.cases import for_each

PLACE: dict[str, Any] = {"node_id": 3, "host": "far", "port": 9092}


@for_each(
    "response",
    [
        MetadataResponse(brokers=[MetadataResponseBroker(**PLACE)]),
        FindCoordinatorResponse(**PLACE),
        FindCoordinatorResponse(coordinators=[Coordinator(**PLACE)]),
        DescribeClusterResponse(
            brokers=[DescribeClusterBroker(broker_id=3, host="far", port=9092)]
        ),
        ProduceResponse(node_endpoints=[NodeEndpoint(**PLACE)]),
        FetchResponse(node_endpoints=[FetchEndpoint(**PLACE)]),
    ],
)
def test_an_address_can_be_read_and_changed(response: Struct) -> None:
    """Wherever an answer tells it."""
    (told,) = told_addresses(response)
    assert (told.node_id, told.host, told.port) == (3, "far", 9092)
    told.change("near", 1)
    assert [(each.host, each.port) for each in told_addresses(response)] == [("near", 1)]


def test_an_answer_without_an_address_tells_none() -> None:
    """Such as one with an error, or of another API."""
    assert [*told_addresses(FindCoordinatorResponse(error_code=15, node_id=-1, port=-1))] == []
    assert [*told_addresses(HeartbeatResponse())] == []


def test_no_api_that_tells_addresses_is_forgotten() -> None:
    """Every answer with a host is here, but those about clients and about controllers."""

    def has_host(cls: type[Struct]) -> bool:
        return any(
            field.name == "host" or (isinstance(field.kind, type) and has_host(field.kind))
            for field in fields_of(cls)
        )

    telling = {api.name for api in API_BY_KEY.values() if has_host(api.response_class())}
    others = {
        "BeginQuorumEpoch",
        "ConsumerGroupDescribe",
        "DeleteAcls",
        "DescribeAcls",
        "DescribeQuorum",
        "EndQuorumEpoch",
        "FetchSnapshot",
        "StreamsGroupDescribe",
        "StreamsGroupHeartbeat",
        "UpdateRaftVoter",
        "Vote",
    }
    assert telling - others == {API_BY_KEY[key].name for key in TELLING}
    assert api_keys.SHARE_FETCH in TELLING
