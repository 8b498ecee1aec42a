import pytest

from kdiag.lab.fault.fault_plan import FaultCall, FaultPlan, PlannedEffect
from kdiag.lab.fault.grammar import parse_fault
from kdiag.lab.fault.request_subject import RequestSubject
from kdiag.lab.proxy.answer_reading import own_answer, relayed_answer
from kdiag.lab.proxy.broker_addresses import BrokerAddresses
from kdiag.lab.proxy.proxy_link import RelayedCall
from kdiag.lab.proxy.relayed_request import OPAQUE, RelayedRequest
from kdiag.wire import api_keys
from kdiag.wire.api.heartbeat import HeartbeatResponse
from kdiag.wire.api.metadata import MetadataResponse, MetadataResponseBroker
from kdiag.wire.api.produce import NodeEndpoint, ProduceResponse
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.messages import decode, encode
from kdiag.wire.header import RequestHeader, response_header_bytes
from kdiag.wire.schema import Struct

TAGGED = {99: b"from the future"}


@pytest.fixture
def addresses() -> BrokerAddresses:
    """Return addresses whose listeners have ports by their brokers."""
    return BrokerAddresses("near", lambda node_id: 1000 + node_id)


def call_of(key: int, version: int, text: str = "") -> RelayedCall:
    """Return a request on its way, with a fault."""
    api = API_BY_KEY[key]
    request = RelayedRequest(api, RequestHeader(key, version, 7, "me", 2, 0))
    if not text:
        return RelayedCall(request)
    rule = parse_fault(text)
    call = FaultCall(api, version, "me", 1, "1", None, RequestSubject())
    return RelayedCall(request, FaultPlan(call, (PlannedEffect(rule.match, rule.effect),)))


def frame_of(response: Struct, key: int, version: int) -> bytes:
    """Return the frame of an answer."""
    return response_header_bytes(API_BY_KEY[key], version, 7) + encode(response, version)


def test_addresses_are_rewritten_and_the_rest_is_kept(addresses: BrokerAddresses) -> None:
    """Tagged fields that nobody knows included."""
    broker = MetadataResponseBroker(node_id=3, host="far", port=9092)
    response = MetadataResponse(brokers=[broker], unknown_tagged_fields=TAGGED)
    frame = frame_of(response, api_keys.METADATA, 12)
    relayed = relayed_answer(call_of(api_keys.METADATA, 12), frame, addresses)
    broker.host, broker.port = "near", 1003
    assert relayed.frame == frame_of(response, api_keys.METADATA, 12)
    assert decode(MetadataResponse, 12, relayed.frame, 5).unknown_tagged_fields == TAGGED


def test_leaders_in_answers_to_produce_are_rewritten(addresses: BrokerAddresses) -> None:
    """From the version on that tells them (KIP-951)."""
    response = ProduceResponse(node_endpoints=[NodeEndpoint(node_id=3, host="far", port=9092)])
    frame = frame_of(response, api_keys.PRODUCE, 10)
    relayed = relayed_answer(call_of(api_keys.PRODUCE, 10), frame, addresses)
    assert b"near" in relayed.frame
    assert b"far" not in relayed.frame
    without = frame_of(ProduceResponse(), api_keys.PRODUCE, 10)
    assert relayed_answer(call_of(api_keys.PRODUCE, 10), without, addresses).frame is without


def test_what_is_not_understood_passes_as_it_is(addresses: BrokerAddresses) -> None:
    """Byte for byte; a fault that wanted an error in it is passed over."""
    for call in (RelayedCall(OPAQUE), call_of(api_keys.METADATA, 12)):
        assert relayed_answer(call, b"\0\0\0\7\0nonsense", addresses).frame == b"\0\0\0\7\0nonsense"
    call = call_of(api_keys.HEARTBEAT, 4, "error=NOT_COORDINATOR")
    relayed = relayed_answer(call, b"\0\0\0\7", addresses)
    assert (relayed.frame, len(relayed.passed)) == (b"\0\0\0\7", 1)


def test_a_fault_changes_an_answer(addresses: BrokerAddresses) -> None:
    """Or it is made without a broker."""
    call = call_of(api_keys.HEARTBEAT, 4, "error=NOT_COORDINATOR")
    frame = frame_of(HeartbeatResponse(), api_keys.HEARTBEAT, 4)
    wanted = frame_of(HeartbeatResponse(error_code=16), api_keys.HEARTBEAT, 4)
    assert relayed_answer(call, frame, addresses).frame == wanted
    assert own_answer(call, HeartbeatResponse(error_code=16)) == wanted
    quiet = frame_of(HeartbeatResponse(), api_keys.HEARTBEAT, 4)
    assert relayed_answer(call_of(api_keys.HEARTBEAT, 4), quiet, addresses).frame is quiet
