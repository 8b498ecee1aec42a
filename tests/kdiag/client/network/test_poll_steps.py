import socket
from collections.abc import Callable

import pytest

from client_ends.client_peers import (
    MS,
    RecordingClient,
    Refused,
    S,
    Unfinished,
    connect,
    full_server,
    network_client,
    poll_until,
    silent_server,
)
from kdiag import __version__
from kdiag.client.network.connection_states import FOREVER_NS, ConnectionState
from kdiag.client.network.node import Node
from kdiag.client.network.request import ClientRequest, RequestBuilder, builder_of
from kdiag.errors import (
    AuthenticationError,
    DecodeError,
    DisconnectedError,
    Fault,
    Layer,
    RequestTimeoutError,
)
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.produce import ProduceRequest, ProduceResponse
from kdiag.wire.schema import Versions
from scripted_kafka.scripted_broker import CLOSE, HOLD, Received, ScriptedBroker, offering

HEARTBEAT = builder_of(HeartbeatRequest())


def send(client: RecordingClient, builder: RequestBuilder = HEARTBEAT) -> ClientRequest:
    """Send a request to the connected broker."""
    request = client.request("1", builder)
    poll_until(client, lambda: client.can_send_request("1"))
    client.send(request)
    return request


def arrive(client: RecordingClient, broker: ScriptedBroker, count: int = 1) -> None:
    """Poll until the broker has got so many heartbeats."""
    poll_until(client, lambda: len(broker.asked("Heartbeat")) >= count)


def refusing(*newest: int) -> Callable[[Received], None]:
    """Return what refuses a version of ApiVersions in version 0, and answers that named."""
    keys = [ApiVersion(api_key=18, max_version=each) for each in newest]

    def answer(received: Received) -> None:
        if received.header.version > (newest[0] if newest else 0):
            refusal = ApiVersionsResponse(error_code=35, api_keys=keys)
            received.reply(refusal, version=0)
        else:
            received.reply(offering(Heartbeat=(0, 2)))

    return answer


def test_a_new_connection_begins_with_api_versions(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """The client names its software; after the answer the node is ready."""
    assert not client.ready(broker.node())
    poll_until(client, lambda: client.is_ready("1"))

    asked = broker.wait_for("ApiVersions")
    assert asked.header.version == 4
    assert asked.message() == ApiVersionsRequest(
        client_software_name="kdiag", client_software_version=__version__
    )
    versions = client.api_versions("1")
    assert versions is not None
    assert versions.range(HEARTBEAT.api) == Versions(0, 4)
    assert client.ended == []


@pytest.mark.parametrize(("newest", "versions"), [((2,), [4, 2]), ((), [4, 0])])
def test_a_broker_that_lacks_the_version_is_asked_in_one_that_it_has(
    client: RecordingClient, broker: ScriptedBroker, newest: tuple[int, ...], versions: list[int]
) -> None:
    """The newest that it names, or else 0, on the same connection."""
    broker.on("ApiVersions", refusing(*newest))
    connect(client, broker.node())

    assert [each.header.version for each in broker.requests] == versions
    assert broker.connections == 1
    client.send(client.request("1", HEARTBEAT))
    assert client.take()[0].version == 2


def test_an_error_in_api_versions_ends_the_connection(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """The node is not ready, nothing is in flight, and the error is named."""
    broker.on("ApiVersions", ApiVersionsResponse(error_code=42))
    client.ready(broker.node())
    poll_until(client, lambda: client.connection_failed("1"))

    assert not client.is_ready("1")
    assert client.in_flight_count() == 0
    error = client.connection_error("1")
    assert error is not None
    assert "INVALID_REQUEST" in error.why


def test_losing_api_versions_is_not_told_and_keeps_backing_off(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """A broker that accepts and hangs up is left alone longer each time."""
    broker.on("ApiVersions", CLOSE)
    delays = []
    for _ in range(4):
        client.ready(broker.node())
        poll_until(client, lambda: client.connection_failed("1"))
        delays.append(client.connection_delay_ns("1") // MS)
        client.time.advance(delays[-1] * MS)

    assert delays == [50, 100, 200, 400]
    assert client.ended == []


def test_giving_api_versions_up_is_not_told_and_keeps_backing_off(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """As well when this end hangs up."""
    broker.on("ApiVersions", HOLD)
    delays = []
    for _ in range(3):
        client.ready(broker.node())
        poll_until(client, lambda: client.in_flight_count("1"))
        client.disconnect("1")
        delays.append(client.connection_delay_ns("1") // MS)
        client.time.advance(delays[-1] * MS)

    assert delays == [50, 100, 200]
    assert client.poll(0) == []


def test_connections_that_never_come_about_time_out_together() -> None:
    """Two of them in one poll."""
    with full_server() as one, full_server() as two, network_client() as client:
        for node_id, port in (("1", one), ("2", two)):
            client.ready(Node(node_id, "127.0.0.1", port))
        client.poll(0)
        client.time.advance(2 * S + 1)
        client.poll(0)

        assert client.connection_failed("1")
        assert client.connection_failed("2")


def test_a_connection_that_is_never_authenticated_is_not_asked_for_versions() -> None:
    """It stays CONNECTING, so that the setup timeout ends it."""
    with silent_server() as port, network_client(authenticator=Unfinished) as client:
        client.ready(Node("1", "127.0.0.1", port))
        poll_until(client, lambda: client._selector.connected)
        client.poll(0)
        assert client._states.state("1") is ConnectionState.CONNECTING
        assert client.in_flight_count("1") == 0
        client.time.advance(2 * S + 1)
        client.poll(0)

        error = client.connection_error("1")
        assert error is not None
        assert error.layer is Layer.SASL
        assert "did not answer SASL authentication within 2 s" in error.why


def test_a_refused_password_is_kept_as_it_was_told() -> None:
    """The node counts as failed."""
    with silent_server() as port, network_client(authenticator=Refused) as client:
        client.ready(Node("1", "127.0.0.1", port))
        poll_until(client, lambda: client.connection_failed("1"))

        error = client.connection_error("1")
        assert isinstance(error, AuthenticationError)
        assert (error.why, error.fix) == ("wrong password", "Correct it")


def test_an_answer_that_cannot_be_read_ends_its_connection(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """Its own request gets the fault, the others are told that the connection ended."""
    broker.on("Heartbeat", HOLD)
    connect(client, broker.node())
    for count in (1, 2):
        client.send(client.request("1", HEARTBEAT))
        arrive(client, broker, count)
    first = broker.wait_for("Heartbeat")
    first.reply_frame(first.header.correlation_id.to_bytes(4) + b"\0\1")

    wrong, lost = client.take(2)
    assert isinstance(wrong.error, DecodeError)
    assert not wrong.is_disconnected
    assert isinstance(lost.error, DisconnectedError)
    assert lost.is_disconnected
    assert client.connection_failed("1")


def test_a_frame_that_nobody_asked_for_ends_the_connection(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """What comes after it could not be trusted."""
    connect(client, broker.node())
    broker.wait_for("ApiVersions").reply_frame(b"\0\0\0\7extra")
    poll_until(client, lambda: client.connection_failed("1"))

    error = client.connection_error("1")
    assert error is not None
    assert "a frame of 9 bytes came, though nothing was asked" in error.why


def test_a_peer_that_speaks_first_is_no_broker() -> None:
    """Its frame is there before anything was asked."""
    with socket.create_server(("127.0.0.1", 0)) as server, network_client() as client:
        client.ready(Node("1", "127.0.0.1", server.getsockname()[1]))
        peer, _ = server.accept()
        with peer:
            peer.sendall(b"\0\0\0\5hello")
            poll_until(client, lambda: client.connection_failed("1"))

    error = client.connection_error("1")
    assert error is not None
    assert error.fault is Fault.BROKEN_PROTOCOL


def test_requests_that_are_lost_end_in_the_order_they_were_sent(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """Each is told that the connection ended."""
    broker.on("Heartbeat", HOLD)
    connect(client, broker.node())
    sent = [send(client) for _ in range(3)]
    arrive(client, broker, 3)
    broker.hang_up()

    responses = client.take(3)
    assert [each.request for each in responses] == sent
    for each in responses:
        assert each.is_disconnected
        assert not each.is_timed_out
        assert isinstance(each.error, DisconnectedError)
    assert client.connection_failed("1")
    assert client.api_versions("1") is None


def test_an_answer_counts_that_came_before_its_connection_ended(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """The next request is lost."""
    connect(client, broker.node())
    send(client)
    arrive(client, broker)
    broker.on("Heartbeat", CLOSE)
    send(client)
    arrive(client, broker, 2)

    first, second = client.take(2)
    assert first.body == HeartbeatResponse(error_code=27)
    assert second.is_disconnected


@pytest.mark.parametrize("timeout_ns", [None, 3 * S])
def test_a_request_that_takes_too_long_ends_its_connection(
    client: RecordingClient, broker: ScriptedBroker, timeout_ns: int | None
) -> None:
    """It is both timed out and disconnected; the limit is its own or that of the settings."""
    broker.on("Heartbeat", HOLD)
    connect(client, broker.node())
    client.send(client.request("1", HEARTBEAT, timeout_ns=timeout_ns))
    arrive(client, broker)
    client.time.advance(timeout_ns or 10 * S)
    assert client.poll(0) == []
    client.time.advance(1)

    (response,) = client.poll(0)
    assert response.is_timed_out
    assert response.is_disconnected
    assert isinstance(response.error, RequestTimeoutError)
    assert client.connection_failed("1")
    assert client.in_flight_count() == 0


def test_a_poll_waits_no_longer_than_the_next_timeout(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """A request that may take nothing is over at the next poll, however long that may wait."""
    broker.on("Heartbeat", HOLD)
    connect(client, broker.node())
    client.send(client.request("1", HEARTBEAT, timeout_ns=0))
    client.time.advance(1)

    assert client.poll(FOREVER_NS)[0].is_timed_out


def test_the_time_of_a_throttle_does_not_count_for_requests(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """The broker leaves the connection alone for so long."""
    broker.on("Heartbeat", HOLD)
    connect(client, broker.node())
    send(client)
    send(client)
    arrive(client, broker, 2)
    broker.wait_for("Heartbeat").reply(HeartbeatResponse(throttle_time_ms=4_000))
    client.take()
    client.time.advance(14 * S)
    assert client.poll(0) == []
    client.time.advance(1)

    assert client.poll(0)[0].is_timed_out


def test_a_throttled_node_is_not_ready_for_that_time(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """Nor is it the least loaded."""
    broker.on("Heartbeat", HeartbeatResponse(throttle_time_ms=100))
    connect(client, broker.node())
    send(client)
    client.take()

    assert not client.ready(broker.node())
    assert client.poll_delay_ns("1") == 100 * MS
    assert client.least_loaded_node().node is None
    client.time.advance(100 * MS)
    assert client.ready(broker.node())
    assert client.poll_delay_ns("1") == FOREVER_NS
    assert client.least_loaded_node().node == broker.node()


def test_a_version_before_kip_219_is_not_throttled(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """Such a broker has waited itself."""
    broker.on("Produce", ProduceResponse(throttle_time_ms=100))
    connect(client, broker.node())
    send(client, builder_of(ProduceRequest(acks=1), 5))
    client.take()

    assert client.ready(broker.node())
