import socket
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

import pytest

from client_ends.client_peers import plaintext
from kdiag.client.network.in_flight import InFlightRequest, InFlightRequests
from kdiag.client.network.matching import RequestMatcher, read_response, throttle_ns
from kdiag.client.network.request import ClientRequest, builder_of
from kdiag.clock import ManualClock
from kdiag.errors import DecodeError, DisconnectedError, EncodeError
from kdiag.net.receive import NetworkReceive
from kdiag.net.selector.selector import Selector
from kdiag.net.send import NetworkSend
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.describe_cluster import DescribeClusterResponse
from kdiag.wire.api.describe_configs import DescribeConfigsResponse
from kdiag.wire.api.fetch import FetchResponse
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.init_producer_id import InitProducerIdResponse
from kdiag.wire.api.join_group import JoinGroupResponse
from kdiag.wire.api.metadata import MetadataResponse
from kdiag.wire.api.offset_for_leader_epoch import OffsetForLeaderEpochResponse
from kdiag.wire.api.produce import ProduceRequest, ProduceResponse
from kdiag.wire.api.sasl_handshake import SaslHandshakeResponse
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.messages import encode
from kdiag.wire.header import RESERVED_FOR_SASL
from kdiag.wire.schema import Struct, info_of
from tiers.cases import for_each

GONE = DisconnectedError("gone")


class Talk(NamedTuple):
    """One end of a connection that a matcher uses, and the other."""

    requests: RequestMatcher
    in_flight: InFlightRequests
    selector: Selector
    clock: ManualClock
    far: socket.socket

    def send(self, message: Struct, version: int, correlation_id: int = 7) -> ClientRequest:
        """Send a request."""
        request = ClientRequest(
            node_id="1",
            builder=builder_of(message),
            correlation_id=correlation_id,
            created_ns=0,
            timeout_ns=0,
        )
        self.requests.send(request, version)
        return request

    def receive(self, frame: bytes) -> NetworkReceive:
        """Return a frame that the other end sends."""
        self.far.sendall(len(frame).to_bytes(4) + frame)
        while not self.selector.completed_receives:
            self.selector.poll(None)
        return self.selector.completed_receives[0]


@pytest.fixture
def talk() -> Iterator[Talk]:
    """Yield a matcher over a pair of sockets."""
    clock = ManualClock()
    near, far = socket.socketpair()
    with far, closing(Selector(clock, make_channel=plaintext(clock))) as selector:
        selector.register("1", near)
        in_flight = InFlightRequests(5)
        requests = RequestMatcher(selector, in_flight, clock, "kdiag", None)
        yield Talk(requests, in_flight, selector, clock, far)


def test_an_answer_belongs_to_the_oldest_request(talk: Talk) -> None:
    """The time between the last byte of one and the first of the other is measured."""
    request = talk.send(HeartbeatRequest(), 4)
    talk.selector.poll(0)
    talk.clock.advance(3_000)
    receive = talk.receive(b"\0\0\0\7\0" + encode(HeartbeatResponse(error_code=27), 4))
    response = talk.requests.match(receive, 5_000)

    assert response.request is request
    assert response.body == HeartbeatResponse(error_code=27)
    assert (response.version, response.rtt_ns, response.received_ns) == (4, 3_000, 5_000)
    assert (response.written_ns, response.last_byte_ns) == (0, 3_000)


def test_the_answer_to_another_request_is_none(talk: Talk) -> None:
    """The oldest request is over all the same."""
    talk.send(HeartbeatRequest(), 4)
    talk.selector.poll(0)
    response = talk.requests.match(talk.receive(b"\0\0\0\x08" + bytes(9)), 0)

    assert isinstance(response.error, DecodeError)
    assert response.body is None
    assert talk.in_flight.count() == 0


def test_an_answer_to_nothing_belongs_to_no_request(talk: Talk) -> None:
    """Whoever reads it decides what to do with such a peer."""
    with pytest.raises(DecodeError, match="a frame of 6 bytes came, though nothing was asked"):
        talk.requests.match(talk.receive(b"\0\0\0\7hi"), 0)


def test_only_a_request_without_an_answer_is_over_when_written(talk: Talk) -> None:
    """The others stay in flight."""
    talk.send(HeartbeatRequest(), 4)
    talk.selector.poll(0)
    assert talk.requests.complete_send(talk.selector.completed_sends[0], 9) is None

    request = talk.send(ProduceRequest(acks=0), 9)
    talk.selector.poll(0)
    response = talk.requests.complete_send(talk.selector.completed_sends[0], 9)
    assert response is not None
    assert response.request is request
    assert talk.in_flight.count() == 1


def test_what_cannot_be_written_is_not_in_flight(talk: Talk) -> None:
    """Nor is anything sent."""
    with pytest.raises(EncodeError):
        talk.send(FindCoordinatorRequest(coordinator_keys=["a", "b"]), 0)

    assert talk.in_flight.count() == 0
    channel = talk.selector.channel("1")
    assert channel is not None
    assert not channel.has_send


def test_requests_are_cancelled_in_the_order_they_were_sent(talk: Talk) -> None:
    """Each with the same reason."""
    requests = []
    for number in range(3):
        requests.append(talk.send(HeartbeatRequest(), 4, number))
        talk.selector.poll(0)
    responses = talk.requests.cancel("1", GONE, 9, is_timed_out=True)

    assert [each.request for each in responses] == requests
    assert all(each.error is GONE and each.is_disconnected for each in responses)
    assert all(each.is_timed_out and each.received_ns == 9 for each in responses)
    assert talk.requests.cancel("1", GONE, 9) == []


def asked(message: Struct, version: int) -> InFlightRequest:
    """Return a request in flight with correlation id 7."""
    request = ClientRequest(
        node_id="1", builder=builder_of(message), correlation_id=7, created_ns=0, timeout_ns=0
    )
    send = NetworkSend("1", [b""])
    return InFlightRequest(
        request=request, version=version, expects_response=True, send=send, sent_ns=0
    )


def test_a_response_is_read_in_the_version_of_its_request() -> None:
    """With the header that belongs to it."""
    answer = FindCoordinatorResponse(node_id=3, host="a", port=9092)
    for version, header in ((0, b"\0\0\0\7"), (3, b"\0\0\0\7\0")):
        frame = header + encode(answer, version)
        assert read_response(asked(FindCoordinatorRequest(), version), frame) == answer


def test_the_refusal_of_a_version_of_api_versions_is_read_in_version_0() -> None:
    """The broker does not know the one that it was asked in (KIP-511)."""
    refusal = ApiVersionsResponse(error_code=35)
    frame = b"\0\0\0\7" + encode(refusal, 0)

    assert read_response(asked(ApiVersionsRequest(), 4), frame) == refusal


def test_another_correlation_id_is_told() -> None:
    """What was expected, for which API, and what came."""
    with pytest.raises(DecodeError, match=r"7 was expected for ApiVersions, not 8$"):
        read_response(asked(ApiVersionsRequest(), 0), b"\0\0\0\x08" + bytes(20))


def test_a_correlation_id_of_sasl_is_told_as_such() -> None:
    """An authenticator has not waited for its answer."""
    assert min(RESERVED_FOR_SASL) == (1 << 31) - 8
    assert max(RESERVED_FOR_SASL) == (1 << 31) - 1
    late = min(RESERVED_FOR_SASL).to_bytes(4)
    with pytest.raises(DecodeError, match="the answer to a SASL request, which came late"):
        read_response(asked(ApiVersionsRequest(), 0), late + bytes(20))


@for_each("frame", [b"", b"\0\0\0", b"\0\0\0\7", b"\0\0\0\7\0\0\0\0\0\1"])
def test_a_frame_that_ends_early_is_told(frame: bytes) -> None:
    """Nothing else is raised."""
    with pytest.raises(DecodeError):
        read_response(asked(ApiVersionsRequest(), 0), frame)


@for_each(
    ("body", "first"),
    [
        (ProduceResponse(throttle_time_ms=7), 6),
        (FetchResponse(throttle_time_ms=7), 8),
        (MetadataResponse(throttle_time_ms=7), 6),
        (HeartbeatResponse(throttle_time_ms=7), 2),
        (JoinGroupResponse(throttle_time_ms=7), 3),
        (OffsetForLeaderEpochResponse(throttle_time_ms=7), 2),
        (DescribeConfigsResponse(throttle_time_ms=7), 2),
        (InitProducerIdResponse(throttle_time_ms=7), 1),
        (DescribeClusterResponse(throttle_time_ms=7), 0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_clients_wait_since_kip_219(body: Struct, first: int) -> None:
    """In older versions the broker has waited itself before it answered."""
    key = info_of(type(body)).api_key
    assert key is not None
    api = API_BY_KEY[key]

    assert throttle_ns(api, first, body) == 7_000_000
    if first:
        assert throttle_ns(api, first - 1, body) == 0


def test_nobody_waits_who_is_not_told_to() -> None:
    """Zero, or no such field, is no throttle; nor is a negative one, which makes no sense."""
    assert throttle_ns(API_BY_KEY[0], 9, ProduceResponse()) == 0
    assert throttle_ns(API_BY_KEY[0], 9, ProduceResponse(throttle_time_ms=-1)) == 0
    assert throttle_ns(API_BY_KEY[17], 1, SaslHandshakeResponse()) == 0


def test_nobody_is_left_alone_for_hours() -> None:
    """One byte of an answer may be damaged."""
    damaged = ProduceResponse(throttle_time_ms=0x00FF0000)
    assert throttle_ns(API_BY_KEY[0], 9, damaged) == 60_000_000_000
