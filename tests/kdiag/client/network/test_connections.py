import socket
from collections.abc import Callable, Sequence

import pytest

from client_ends.client_peers import (
    MS,
    STEADY,
    RecordingClient,
    S,
    closed_port,
    connect,
    full_server,
    network_client,
    poll_until,
    silent_server,
)
from kdiag.client.network.metadata import Node
from kdiag.client.network.request import builder_of
from kdiag.errors import ConnectError, Fault, Layer
from kdiag.net.address import Address
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from scripted_kafka.foreign_server import CUT_SHORT, saying
from scripted_kafka.scripted_broker import (
    CLOSE,
    HOLD,
    RESET,
    Instead,
    Received,
    ScriptedBroker,
    offering,
)

HEARTBEAT = builder_of(HeartbeatRequest())


def local(port: int) -> Node:
    """Return a node on loopback."""
    return Node("1", "127.0.0.1", port)


def failed(client: RecordingClient, node: Node) -> ConnectError:
    """Connect to a node in vain and return why."""
    client.ready(node)
    poll_until(client, lambda: client.connection_failed(node.id))
    error = client.connection_error(node.id)
    assert error is not None
    assert client.silence(node.id) is None
    return error


def test_a_closed_port_refuses() -> None:
    """The reason is kept, with the address and the remedy."""
    port = closed_port()
    with network_client() as client:
        assert client.connection_error("1") is None
        error = failed(client, local(port))

    assert (error.address, error.layer) == (f"127.0.0.1:{port}", Layer.TCP)
    assert error.why.startswith("connection refused")
    assert error.fix.startswith("Start the broker")


def test_a_host_name_is_told_with_its_address() -> None:
    """So that a wrong entry in DNS or /etc/hosts shows."""
    port = closed_port()

    def lookup(host: str, number: int) -> Sequence[Address]:
        return [Address(host, number, "127.0.0.1", socket.AF_INET)]

    with network_client((), STEADY._replace(lookup=lookup)) as client:
        error = failed(client, Node("1", "kafka.example", port))

    assert error.address == f"kafka.example:{port} (127.0.0.1)"


def test_packets_that_are_dropped_are_given_up_after_the_setup_timeout() -> None:
    """Not before; meanwhile it is known what is waited for."""
    with full_server() as port, network_client() as client:
        client.ready(local(port))
        client.time.advance(2 * S)
        client.poll(0)
        waiting = client.silence("1")
        assert waiting is not None
        assert waiting.layer is Layer.TCP
        assert not client.connection_failed("1")

        client.time.advance(1)
        error = failed(client, local(port))
    assert error.layer is Layer.TCP
    assert error.why.startswith("no answer to the attempt to connect")
    assert "within 2 s" in error.why


def test_a_server_that_says_nothing_is_given_up_after_the_setup_timeout() -> None:
    """It accepts, so it is not the network."""
    with silent_server() as port, network_client() as client:
        client.ready(local(port))
        poll_until(client, lambda: client.in_flight_count("1") == 1)
        client.time.advance(2 * S + 1)
        error = failed(client, local(port))

    assert error.layer is Layer.KAFKA
    assert "did not answer the ApiVersions request within 2 s" in error.why
    assert "TLS listener" in error.fix


@pytest.mark.parametrize(("instead", "how"), [(CLOSE, "closed"), (RESET, "reset")])
def test_a_server_that_hangs_up_on_api_versions_may_want_tls(instead: Instead, how: str) -> None:
    """Or be a very old broker."""
    with ScriptedBroker() as broker, network_client() as client:
        broker.on("ApiVersions", instead)
        error = failed(client, broker.node())

    assert error.layer is Layer.KAFKA
    assert f"accepted, then {how} the connection during the ApiVersions request" in error.why
    assert "TLS listener" in error.fix
    assert "before Kafka 0.10" in error.fix


def test_a_server_that_hangs_up_on_the_first_request_may_want_sasl() -> None:
    """A broker answers ApiVersions before it asks who is there, and then hangs up."""
    with ScriptedBroker() as broker, network_client() as client:
        broker.on("Heartbeat", CLOSE)
        connect(client, broker.node())
        client.send(client.request("1", HEARTBEAT))
        client.take()

        error = client.connection_error("1")
        assert error is not None
        assert "during the first request after ApiVersions" in error.why
        assert "asks for SASL" in error.fix


def test_a_broker_that_goes_later_was_stopped() -> None:
    """It has answered requests before."""
    with ScriptedBroker() as broker, network_client() as client:
        broker.on("Heartbeat", HeartbeatResponse())
        connect(client, broker.node())
        client.send(client.request("1", HEARTBEAT))
        client.take()
        assert client.connection_error("1") is None
        broker.hang_up()
        poll_until(client, lambda: client.connection_failed("1"))

        error = client.connection_error("1")
        assert error is not None
        assert "closed the connection during later requests" in error.why


def test_a_request_that_is_never_answered_is_told_as_silence() -> None:
    """With the time that was given to it."""
    with ScriptedBroker() as broker, network_client() as client:
        broker.on("Heartbeat", HOLD)
        connect(client, broker.node())
        client.send(client.request("1", HEARTBEAT, timeout_ns=500 * MS))
        poll_until(client, lambda: broker.asked("Heartbeat"))
        client.time.advance(500 * MS + 1)
        client.take()

        error = client.connection_error("1")
        assert error is not None
        assert "did not answer the first request after ApiVersions within 0.5 s" in error.why


def test_an_answer_that_does_not_come_to_its_end_is_no_silence() -> None:
    """What is missing is told: a length that lies looks like that, and so do lost packets."""
    with saying(CUT_SHORT) as port, network_client() as client:
        client.ready(local(port))
        poll_until(client, lambda: "announced" in str(client.silence("1")))
        client.time.advance(2 * S + 1)
        poll_until(client, lambda: client.connection_failed("1"))
        error = client.connection_error("1")

    assert error is not None
    assert error.fault is Fault.BROKEN_PROTOCOL
    assert "announced 1048576 bytes to answer the ApiVersions request" in error.why
    assert "of which 1048560 have not come within 2 s" in error.why


def wrong_correlation_id(received: Received) -> None:
    """Answer another question."""
    received.reply_frame(b"\0\0\0\x63" + bytes(10))


def no_api_versions(received: Received) -> None:
    """Answer something that ends too early."""
    received.reply_frame(received.header.correlation_id.to_bytes(4) + b"\0")


@pytest.mark.parametrize("answer", [wrong_correlation_id, no_api_versions])
def test_an_answer_that_is_none_ends_the_attempt(answer: Callable[[Received], None]) -> None:
    """Whatever is there, it is no broker."""
    with ScriptedBroker() as broker, network_client() as client:
        broker.on("ApiVersions", answer)
        error = failed(client, broker.node())

    assert error.layer is Layer.KAFKA
    assert error.why == "its answer is not a response to ApiVersions"
    assert "address of a Kafka broker" in error.fix


def test_a_connection_that_is_ready_has_no_error() -> None:
    """The reason why the last one failed is forgotten."""
    with ScriptedBroker() as broker, network_client() as client:
        broker.on("ApiVersions", CLOSE)
        failed(client, broker.node())
        broker.on("ApiVersions", offering())
        client.time.advance(S)
        connect(client, broker.node())

        assert client.connection_error("1") is None


def test_all_addresses_of_a_host_are_tried_at_once_one_after_the_other() -> None:
    """As of `localhost`, where a broker often listens on one of two."""
    with ScriptedBroker() as broker:
        asked: list[str] = []

        def lookup(host: str, port: int) -> Sequence[Address]:
            asked.append(host)
            return [Address(host, port, ip, socket.AF_INET) for ip in ("127.0.0.7", "127.0.0.1")]

        with network_client((), STEADY._replace(lookup=lookup)) as client:
            connect(client, Node("1", "kafka.example", broker.port))
    assert asked == ["kafka.example"]


def test_a_host_of_which_no_address_answers_fails_once() -> None:
    """With the reason of the last."""
    port = closed_port()

    def lookup(host: str, number: int) -> Sequence[Address]:
        return [Address(host, number, ip, socket.AF_INET) for ip in ("127.0.0.7", "127.0.0.8")]

    with network_client((), STEADY._replace(lookup=lookup)) as client:
        error = failed(client, Node("1", "kafka.example", port))
        assert not client.can_connect("1")

    assert error.address == f"kafka.example:{port} (127.0.0.8)"


def test_a_broker_that_has_moved_is_found_at_its_new_address() -> None:
    """After a connection that worked the name is looked up anew."""
    with ScriptedBroker() as old, ScriptedBroker() as new:
        homes = [old, new]

        def lookup(host: str, _: int) -> Sequence[Address]:
            return [homes.pop(0).address._replace(host=host)]

        node = Node("1", "kafka.example", 9092)
        with network_client((), STEADY._replace(lookup=lookup)) as client:
            connect(client, node)
            old.hang_up()
            poll_until(client, lambda: client.connection_failed("1"))
            client.time.advance(S)
            connect(client, node)
            assert (old.connections, new.connections) == (1, 1)
