import socket
from collections.abc import Iterator

import pytest

from kdiag.clock import NS_PER_MS, SystemClock
from kdiag.lab.fault.grammar import parse_fault
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.api.produce import ProduceResponse
from lab_ends.lab_client import LabClient
from lab_ends.one_node import batch
from lab_ends.proxied_lab import ProxiedLab, proxied_lab
from lab_ends.requests import produce_request

CLOCK = SystemClock()
_LOADING = 14
ASKING = ApiVersionsRequest(client_software_name="test", client_software_version="1")


@pytest.fixture(scope="module")
def shared() -> Iterator[ProxiedLab]:
    """Return a lab and a proxy for all tests."""
    with proxied_lab() as made:
        yield made


@pytest.fixture
def proxied(shared: ProxiedLab) -> Iterator[ProxiedLab]:
    """Return them without faults."""
    yield shared
    shared.book.clear()


def coordinator_port(proxied: ProxiedLab, group: str) -> int:
    """Return where the coordinator of a group is told to be."""
    asking = FindCoordinatorRequest(coordinator_keys=[group])
    with LabClient(proxied.port) as client:
        found = client.ask(asking, FindCoordinatorResponse, 4).coordinators[0]
        while found.error_code:
            found = client.ask(asking, FindCoordinatorResponse, 4).coordinators[0]
    return found.port


def test_requests_pass_and_clients_stay(proxied: ProxiedLab) -> None:
    """Brokers are told at the listeners of the proxy."""
    ports = {*proxied.proxy.addresses.ports.values()}
    with LabClient(proxied.port) as client:
        answer = client.ask(MetadataRequest(topics=None), MetadataResponse, 12)
        assert {each.port for each in answer.brokers} == ports
        assert ports.isdisjoint({each.port for each in proxied.lab.nodes})


@pytest.mark.thorough
def test_many_requests_are_under_way(proxied: ProxiedLab) -> None:
    """More than wait at once; their answers come in order."""
    with LabClient(proxied.port) as client:
        sent = [client.send(ASKING, 3) for _ in range(300)]
        came = [int.from_bytes(client.receive_frame()[:4]) for _ in sent]
        assert came == sent


def test_what_is_not_understood_reaches_the_broker(proxied: ProxiedLab) -> None:
    """Which ends the connection, as it does without a proxy."""
    before = proxied.proxy.relay.passed_count
    with LabClient(proxied.port) as client:
        client.send_frame(b"\x7f\x00\x00\x00" + bytes(20))
        assert client.receive_frame() == b""
    assert proxied.proxy.relay.passed_count == before + 1


def test_an_answer_is_late_and_holds_up_the_next(proxied: ProxiedLab) -> None:
    """Answers keep their order."""
    proxied.book.add(parse_fault("Metadata delay=30ms"))
    with LabClient(proxied.port) as client:
        before_ns = CLOCK.monotonic_ns()
        sent = [client.send(MetadataRequest(topics=None), 12), client.send(ASKING, 3)]
        assert [int.from_bytes(client.receive_frame()[:4]) for _ in sent] == sent
        assert CLOCK.monotonic_ns() - before_ns >= 30 * NS_PER_MS


def test_a_slow_disk_holds_up_requests(proxied: ProxiedLab) -> None:
    """Those behind it, too."""
    proxied.book.add(parse_fault("slow_disk=30ms"))
    with LabClient(proxied.port) as client:
        before_ns = CLOCK.monotonic_ns()
        client.send(produce_request("orders", 0, batch(), acks=0), 9)
        client.ask(ASKING, ApiVersionsResponse, 3)
        assert CLOCK.monotonic_ns() - before_ns >= 30 * NS_PER_MS


def test_what_is_refused_does_not_reach_a_broker(proxied: ProxiedLab) -> None:
    """It is answered in its turn."""
    proxied.book.add(parse_fault("Produce error=NOT_ENOUGH_REPLICAS"))
    requests = sum(each.dispatch.request_count for each in proxied.lab.nodes)
    with LabClient(proxied.port) as client:
        answer = client.ask(produce_request("orders", 0, batch()), ProduceResponse, 9)
    assert answer.responses[0].partition_responses[0].error_code == 19
    assert sum(each.dispatch.request_count for each in proxied.lab.nodes) == requests


@pytest.mark.parametrize("text", ["drop=request", "half_open", "drop=answer", "stall=0"])
def test_a_connection_falls_silent(proxied: ProxiedLab, text: str) -> None:
    """After the answers before."""
    proxied.book.add(parse_fault(f"Metadata {text}"))
    with LabClient(proxied.port) as client, LabClient(proxied.port) as other:
        client.send(ASKING, 3)
        client.send(MetadataRequest(topics=None), 12)
        assert client.receive_frame()
        other.ask(ASKING, ApiVersionsResponse, 3)
        client.socket.settimeout(0)
        with pytest.raises(BlockingIOError):
            client.socket.recv(1, socket.MSG_DONTWAIT)


@pytest.mark.parametrize("text", ["close=before", "close=middle", "api_versions=Metadata:0-8"])
def test_a_connection_is_closed(proxied: ProxiedLab, text: str) -> None:
    """Where it should."""
    proxied.book.add(parse_fault(f"Metadata {text}"))
    with LabClient(proxied.port) as client:
        client.send(MetadataRequest(topics=None), 12)
        assert client.receive_frame() == b""


def test_a_request_without_an_answer_can_end_a_connection(proxied: ProxiedLab) -> None:
    """Produce with acks=0."""
    proxied.book.add(parse_fault("Produce close=after"))
    with LabClient(proxied.port) as client:
        client.send(produce_request("orders", 0, batch(), acks=0), 9)
        assert client.receive_frame() == b""


def test_answers_leave_in_reverse_order(proxied: ProxiedLab) -> None:
    """Of requests that are under way together."""
    proxied.book.add(parse_fault("ApiVersions reorder=2"))
    with LabClient(proxied.port) as client:
        sent = [client.send(ASKING, 3) for _ in range(2)]
        assert [int.from_bytes(client.receive_frame()[:4]) for _ in sent] == sent[::-1]


def test_a_broker_that_ends_takes_its_client_along(proxied: ProxiedLab) -> None:
    """One that cannot be reached, too."""
    with LabClient(proxied.port) as client:
        client.ask(ASKING, ApiVersionsResponse, 3)
        client.send_frame(b"")  # which no broker can read
        assert client.receive_frame() == b""
    addresses = proxied.proxy.addresses
    place = addresses.broker_at(1)
    addresses.add(1, "127.0.0.1", 1)
    with LabClient(proxied.port) as client:
        assert client.receive_frame() == b""
    addresses.add(1, *place)


def test_a_coordinator_moves_while_members_wait_for_it(proxied: ProxiedLab) -> None:
    """What the broker answers in the end is dropped."""
    join = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    port = coordinator_port(proxied, "g")
    with LabClient(port) as client:
        answer = client.ask(join, JoinGroupResponse, 9)
        while answer.error_code == _LOADING:
            answer = client.ask(join, JoinGroupResponse, 9)
    member = answer.member_id
    assert member
    join.member_id = member
    proxied.book.add(parse_fault("JoinGroup group=g nth=2 move_coordinator=5m"))
    with LabClient(port) as client, LabClient(port) as other:
        client.send(join, 9)
        while proxied.book.listed()[0].seen_count < 1:
            other.ask(ASKING, ApiVersionsResponse, 3)
        join.member_id = ""
        assert other.ask(join, JoinGroupResponse, 9).error_code == 16
        assert client.receive(JoinGroupResponse, 9).error_code == 16
        heartbeat = HeartbeatRequest(group_id="g", member_id=member)
        assert other.ask(heartbeat, HeartbeatResponse, 4).error_code == 16
