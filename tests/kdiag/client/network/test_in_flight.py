from socket import socketpair

import pytest

from kdiag.client.network.connection_states import FOREVER_NS
from kdiag.client.network.in_flight import InFlightRequest, InFlightRequests
from kdiag.client.network.request import ClientRequest, builder_of
from kdiag.clock import ManualClock
from kdiag.net.send import NetworkSend
from kdiag.net.transport import PlaintextTransport
from kdiag.wire.api.heartbeat import HeartbeatRequest


def written() -> NetworkSend:
    """Return a send of which every byte was written."""
    send = NetworkSend("1", [b"request"])
    near, far = socketpair()
    with near, far:
        send.write_to(PlaintextTransport(near, "peer"), ManualClock())
    assert send.is_completed
    return send


def request(number: int, *, node_id: str = "1", sent_ns: int = 0) -> InFlightRequest:
    """Return a request that may take 100 ns."""
    asked = ClientRequest(
        node_id=node_id,
        builder=builder_of(HeartbeatRequest()),
        correlation_id=number,
        created_ns=0,
        timeout_ns=100,
    )
    return InFlightRequest(
        request=asked, version=4, expects_response=True, send=written(), sent_ns=sent_ns
    )


def in_flight(*requests: InFlightRequest) -> InFlightRequests:
    """Return requests in flight, at most three to a node."""
    flying = InFlightRequests(3)
    for each in requests:
        flying.add(each)
    return flying


def test_the_newest_request_is_completed_when_no_answer_comes() -> None:
    """That of acks=0, as soon as it is written."""
    first, second = request(1), request(2)
    flying = in_flight(first, second)

    assert flying.newest("1") is second
    assert flying.complete_last_sent("1") is second
    assert flying.complete_last_sent("1") is first
    assert flying.count("1") == 0


def test_the_oldest_request_is_completed_by_an_answer() -> None:
    """Answers come in the order of the requests."""
    first, second = request(1), request(2)
    flying = in_flight(first, second)

    assert flying.complete_next("1") is first
    assert flying.complete_next("1") is second


def test_a_node_without_requests_completes_none() -> None:
    """An answer without a request is the other end's mistake, and seen before."""
    flying = in_flight(request(1))
    flying.complete_next("1")

    for complete in (flying.complete_next, flying.complete_last_sent):
        with pytest.raises(RuntimeError, match="no request is in flight to node 1"):
            complete("1")


def test_clearing_a_node_returns_its_requests_oldest_first() -> None:
    """The requests to other nodes stay."""
    first, second, other = request(1), request(2), request(3, node_id="2")
    flying = in_flight(first, second, other)
    assert flying.count() == 3

    assert flying.clear("1") == [first, second]
    assert (flying.count(), flying.count("1"), flying.count("2")) == (1, 0, 1)
    assert flying.clear("1") == []


def test_a_node_is_timed_out_when_any_of_its_requests_is() -> None:
    """Exactly at the limit it is not."""
    flying = in_flight(request(1, sent_ns=50), request(2, node_id="2"))

    assert flying.next_deadline_ns() == 100
    assert flying.timed_out_nodes(100) == []
    assert flying.timed_out_nodes(101) == ["2"]
    assert flying.timed_out_nodes(151) == ["1", "2"]
    assert flying.timed_out("2", 101).request is not None
    assert InFlightRequests(1).next_deadline_ns() == FOREVER_NS


def test_the_time_of_a_throttle_does_not_count() -> None:
    """Every request in flight to the node gets that much more."""
    flying = in_flight(request(1), request(2))
    flying.add_throttle("1", 30)
    flying.add_throttle("1", 10)
    flying.add_throttle("2", 10)

    assert flying.timed_out_nodes(140) == []
    assert flying.timed_out_nodes(141) == ["1"]


def test_no_more_requests_are_sent_than_allowed() -> None:
    """Three here; one that was answered makes room."""
    flying = in_flight(request(1), request(2))
    assert flying.can_send_more("1")
    flying.add(request(3))
    assert not flying.can_send_more("1")
    assert flying.can_send_more("2")
    flying.complete_next("1")
    assert flying.can_send_more("1")


def test_nothing_is_sent_behind_a_request_that_is_being_written() -> None:
    """The other end may not read any more."""
    flying = in_flight()
    stuck = request(1)
    stuck.send = NetworkSend("1", [b"not written"])
    flying.add(stuck)

    assert not flying.can_send_more("1")
