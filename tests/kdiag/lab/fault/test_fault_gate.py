import socket
from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from kdiag.clock import NS_PER_MS, SystemClock
from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.fault.fault_book import FaultBook
from kdiag.lab.fault.grammar import parse_fault
from kdiag.lab.security.listener import SASL_PLAINTEXT, ListenerSettings
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kdiag.wire.api.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.api.produce import ProduceResponse
from lab_ends.lab_client import LabClient
from lab_ends.one_node import batch
from lab_ends.requests import produce_request

CLOCK = SystemClock()
ASKING = ApiVersionsRequest(client_software_name="test", client_software_version="1")


class FaultyLab:
    """A lab whose faults a test adds, and a client of it.

    Attributes:
        book: the faults.
        client: a connection.
    """

    def __init__(self, lab: LabCluster, book: FaultBook, client: LabClient) -> None:
        self.lab = lab
        self.book = book
        self.client = client

    def add(self, text: str) -> None:
        """Add a fault, in place of others."""
        self.book.clear()
        self.book.add(parse_fault(text))

    def ask(self, request: Any, response: Any, version: int) -> Any:
        """Return an answer."""
        return self.client.ask(request, response, version)

    def metadata(self) -> Any:
        """Return who is there."""
        return self.ask(MetadataRequest(topics=None), MetadataResponse, 12)

    def end_offset(self) -> int:
        """Return where the partition ends."""
        topics = [ListOffsetsTopic(name="orders", partitions=[ListOffsetsPartition(timestamp=-1)])]
        answer = self.ask(ListOffsetsRequest(topics=topics), ListOffsetsResponse, 7)
        offset: int = answer.topics[0].partitions[0].offset
        return offset


@pytest.fixture
def faulty() -> Iterator[FaultyLab]:
    """Return a lab with a topic."""
    book = FaultBook(CLOCK)
    settings = LabSettings(topics=(NewTopic("orders"),), faults=book)
    with LabCluster(settings) as lab, LabClient(lab.nodes[0].port) as client:
        yield FaultyLab(lab, book, client)


def test_without_a_fault_nothing_goes_wrong(faulty: FaultyLab) -> None:
    """And one that concerns another client does not, either."""
    faulty.add("client_id=x close=before")
    assert len(faulty.metadata().topics) == 1


def test_an_answer_is_late(faulty: FaultyLab) -> None:
    """By the clock of the lab."""
    faulty.add("Metadata delay=30ms")
    before_ns = CLOCK.monotonic_ns()
    faulty.metadata()
    assert CLOCK.monotonic_ns() - before_ns >= 30 * NS_PER_MS


def test_a_request_is_handled_late(faulty: FaultyLab) -> None:
    """Where the disk is slow."""
    faulty.add("slow_disk=30ms")
    before_ns = CLOCK.monotonic_ns()
    assert faulty.end_offset() == 0
    assert CLOCK.monotonic_ns() - before_ns >= 30 * NS_PER_MS


def test_what_is_refused_is_not_handled(faulty: FaultyLab) -> None:
    """Unless it is to be: then the client is told an error, and the record is there."""
    for text, offset in (("", 0), (" handled", 1)):
        faulty.add(f"Produce topic=orders error=NOT_ENOUGH_REPLICAS{text}")
        answer = faulty.ask(produce_request("orders", 0, batch()), ProduceResponse, 9)
        assert answer.responses[0].partition_responses[0].error_code == 19
        assert faulty.end_offset() == offset


def test_a_connection_is_closed(faulty: FaultyLab) -> None:
    """In the middle of an answer, or because the version is none that is told."""
    faulty.add("Metadata close=middle")
    faulty.client.send(MetadataRequest(topics=None), 12)
    assert faulty.client.receive_frame() == b""
    faulty.add("api_versions=Metadata:0-8")
    with LabClient(faulty.lab.nodes[0].port) as client:
        told = client.ask(ASKING, ApiVersionsResponse, 3)
        assert {each.api_key: each.max_version for each in told.api_keys}[3] == 8
        client.send(MetadataRequest(topics=None), 12)
        assert client.receive_frame() == b""


@pytest.mark.parametrize("text", ["drop=request", "half_open", "drop=answer", "stall=0"])
def test_a_connection_falls_silent(faulty: FaultyLab, text: str) -> None:
    """It is open, and nothing comes; other connections do not notice."""
    faulty.add(f"Metadata {text} times=1")
    faulty.client.send(MetadataRequest(topics=None), 12)
    with LabClient(faulty.lab.nodes[0].port) as client:
        client.ask(MetadataRequest(topics=None), MetadataResponse, 12)
    faulty.client.socket.settimeout(0)
    with pytest.raises(BlockingIOError):
        faulty.client.socket.recv(1, socket.MSG_DONTWAIT)


def test_who_hangs_up_on_silence_is_noticed(faulty: FaultyLab) -> None:
    """Also behind requests that came after the one that was dropped, which do not count."""
    faulty.add("any drop=request")
    for _ in range(3):
        faulty.client.send(MetadataRequest(topics=None), 12)
    faulty.client.socket.shutdown(socket.SHUT_WR)
    assert faulty.client.receive_frame() == b""
    assert faulty.book.listed()[0].fired_count == 1


def test_requests_without_an_answer_can_end_a_connection(faulty: FaultyLab) -> None:
    """Produce with acks=0."""
    faulty.add("Produce close=after")
    request = produce_request("orders", 0, batch())
    request.acks = 0
    faulty.client.send(request, 9)
    assert faulty.client.receive_frame() == b""


def test_answers_leave_in_reverse_order(faulty: FaultyLab) -> None:
    """The second request is read while the first answer is held."""
    faulty.add("Metadata reorder=2")
    first = faulty.client.send(MetadataRequest(topics=None), 12)
    second = faulty.client.send(MetadataRequest(topics=None), 12)
    frames = [faulty.client.receive_frame()[:4] for _ in range(2)]
    assert [int.from_bytes(each) for each in frames] == [second, first]
    faulty.book.clear()
    faulty.metadata()


def test_a_coordinator_moves_while_members_wait_for_it(faulty: FaultyLab) -> None:
    """They are told at once, and find nobody for a while."""
    protocol = JoinGroupRequestProtocol(name="range", metadata=b"")
    join = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[protocol],
    )
    asked = faulty.ask(join, JoinGroupResponse, 9)
    join.member_id = asked.member_id
    arrived = Event()
    faulty.add("JoinGroup group=g nth=2 move_coordinator=5m")
    faulty.client.send(join, 9)  # waits for others: group.initial.rebalance.delay.ms
    with LabClient(faulty.lab.nodes[0].port) as other:
        while faulty.book.listed()[0].seen_count < 1:
            arrived.wait(0.001)
        join.member_id = ""
        assert other.ask(join, JoinGroupResponse, 9).error_code == 16
        assert faulty.client.receive(JoinGroupResponse, 9).error_code == 16
        heartbeat = HeartbeatRequest(group_id="g", member_id=asked.member_id)
        assert other.ask(heartbeat, HeartbeatResponse, 4).error_code == 16
        found = other.ask(
            FindCoordinatorRequest(coordinator_keys=["g", "h"]), FindCoordinatorResponse, 4
        )
        assert found.coordinators[0].error_code == 15
    assert faulty.book.listed()[0].situation_count >= 2


def test_versions_are_others_before_a_client_logs_in() -> None:
    """As afterwards."""
    book = FaultBook(CLOCK)
    book.add(parse_fault("api_versions=Metadata:0-8"))
    settings = LabSettings(listeners=(ListenerSettings(SASL_PLAINTEXT),), faults=book)
    with LabCluster(settings) as lab, LabClient(lab.nodes[0].port) as client:
        told = client.ask(ASKING, ApiVersionsResponse, 3)
        assert {each.api_key: each.max_version for each in told.api_keys}[3] == 8
