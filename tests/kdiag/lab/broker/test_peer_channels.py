import pytest

from kdiag.clock import ManualClock
from kdiag.lab.broker.peer_channels import TIMEOUT_NS, PeerChannels, dial_nobody
from kdiag.lab.replication.peer_requests import Purpose
from kdiag.net.channel import Disconnection
from kdiag.net.selector.selector import SelectorSettings
from kdiag.net.server.processor import Processor, ServerRequest, plaintext_channels
from kdiag.net.tcp.loopback_pair import loopback_pair
from kdiag.wire.api.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.messages import encode
from kdiag.wire.header import read_request_header, response_header_bytes


class Node:
    """A processor that keeps its requests, and asks itself.

    Attributes:
        requests: that have come.
        responses: what those who asked were given.
    """

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.requests: list[ServerRequest] = []
        self.responses: list[DescribeClusterResponse | None] = []
        self.dials = 0
        self.processor = Processor(
            self.clock,
            self,
            make_channel=plaintext_channels(self.clock),
            settings=SelectorSettings(),
        )
        self.peers = PeerChannels(1, self.clock, self.dial)
        self.peers.processor = self.processor

    def dial(self, node_id: int) -> object:
        """Return a connection to itself."""
        assert node_id == 2
        self.dials += 1
        ours, theirs = loopback_pair()
        self.processor.accept(theirs, is_internal=True)
        return ours

    def handle(self, request: ServerRequest) -> None:
        """Keep it."""
        self.requests.append(request)

    def handle_disconnect(self, channel_id: str, ended: Disconnection) -> None:
        """Nobody minds."""

    def advance(self) -> int | None:
        """Give up what waits for too long."""
        return self.peers.advance()

    def ask(self, count: int = 1) -> None:
        """Ask for something."""
        for _ in range(count):
            self.peers.send(
                2, Purpose.TRANSACTIONS, DescribeClusterRequest(), self.responses.append
            )

    def until_requests(self, count: int) -> None:
        """Process until so many requests have come."""
        for _ in range(1000):
            if len(self.requests) >= count:
                return
            self.processor.process_once(10**6)
        raise AssertionError(f"{len(self.requests)} requests")

    def until_responses(self, count: int) -> None:
        """Process until so many have been given."""
        for _ in range(1000):
            if len(self.responses) >= count:
                return
            self.processor.process_once(10**6)
        raise AssertionError(f"{len(self.responses)} responses")

    def answer(self, cluster_id: str) -> None:
        """Answer the last request."""
        request = self.requests[-1]
        header = read_request_header(request.receive.payload)
        api = API_BY_KEY[header.api_key]
        body = encode(DescribeClusterResponse(cluster_id=cluster_id), header.version)
        head = response_header_bytes(api, header.version, header.correlation_id)
        self.processor.respond(request.channel_id, [head, body])


@pytest.fixture
def node() -> "Node":
    """Return a node."""
    return Node()


def test_requests_to_a_node_are_sent_one_after_the_other(node: Node) -> None:
    """Over one connection, which is made for the first."""
    node.ask(2)
    node.until_requests(1)
    assert read_request_header(node.requests[0].receive.payload).client_id == "broker-1"
    node.answer("one")
    node.until_requests(2)
    node.answer("two")
    node.until_responses(2)
    assert [each and each.cluster_id for each in node.responses] == ["one", "two"]
    assert node.dials == 1
    assert node.peers.byte_count > 0
    assert repr(node.peers) == "<PeerChannels of broker 1: 1>"
    node.processor.close()


def test_a_node_that_does_not_answer_is_given_up(node: Node) -> None:
    """With all that waits for it; the next request tries again."""
    node.ask(2)
    node.until_requests(1)
    node.clock.advance(TIMEOUT_NS)
    node.until_responses(2)
    assert node.responses == [None, None]
    node.ask()
    node.until_requests(2)
    node.answer("again")
    node.until_responses(3)
    assert node.dials == 2
    node.processor.close()


def test_a_connection_that_ends_or_says_something_else_gives_no_response(node: Node) -> None:
    """Nor does a node that does not run."""
    node.ask()
    node.until_requests(1)
    node.processor.end(node.requests[0].channel_id)
    node.until_responses(1)
    node.ask()
    node.until_requests(2)
    node.processor.respond(node.requests[1].channel_id, [b"?"])
    node.until_responses(2)
    node.processor.close()
    alone = PeerChannels(1, node.clock, dial_nobody)
    alone.processor = node.processor
    alone.send(3, Purpose.FETCH, DescribeClusterRequest(), node.responses.append)
    assert node.responses == [None, None, None]
