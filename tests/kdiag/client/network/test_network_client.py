import socket
from collections.abc import Callable
from functools import partial
from threading import Thread

import pytest

from client_ends.client_peers import (
    MS,
    STEADY,
    RecordingClient,
    Refused,
    S,
    Unfinished,
    closed_port,
    connect,
    full_server,
    network_client,
    poll_until,
    silent_server,
)
from kdiag import __version__
from kdiag.client.network.connection_states import FOREVER_NS, ConnectionState
from kdiag.client.network.metadata import Node
from kdiag.client.network.request import ClientRequest, ClientResponse, RequestBuilder, builder_of
from kdiag.errors import (
    AuthenticationError,
    DecodeError,
    DisconnectedError,
    EncodeError,
    Fault,
    Layer,
    RequestTimeoutError,
    UnsupportedVersionError,
)
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.produce import ProduceRequest, ProduceResponse
from kdiag.wire.schema import Struct, Versions
from scripted_kafka.scripted_broker import CLOSE, HOLD, Received, ScriptedBroker, offering

HEARTBEAT = builder_of(HeartbeatRequest(group_id="orders"))


def send(client: RecordingClient, builder: RequestBuilder = HEARTBEAT) -> ClientRequest:
    """Send a request to the connected broker."""
    request = client.request("1", builder)
    poll_until(client, lambda: client.can_send_request("1"))
    client.send(request)
    return request


def arrive(client: RecordingClient, broker: ScriptedBroker, count: int = 1) -> None:
    """Poll until the broker has got so many heartbeats."""
    poll_until(client, lambda: len(broker.asked("Heartbeat")) >= count)


def test_a_request_is_answered(client: RecordingClient, broker: ScriptedBroker) -> None:
    """The response tells the version, the time it took and the body; the callback is called."""
    called: list[ClientResponse] = []
    connect(client, broker.node())
    request = client.request("1", HEARTBEAT, on_complete=called.append)
    client.send(request)
    assert client.in_flight_count("1") == 1

    (response,) = client.take()
    assert response.request is request
    assert response.body == HeartbeatResponse(error_code=27)
    assert (response.version, response.error) == (4, None)
    assert (response.is_disconnected, response.is_timed_out) == (False, False)
    assert response.rtt_ns == 0  # the clock stands still
    assert called == [response]
    assert client.in_flight_count() == 0
    received = broker.wait_for("Heartbeat")
    assert received.header.correlation_id == request.correlation_id
    assert received.header.client_id == "kdiag-test"
    assert received.message() == HeartbeatRequest(group_id="orders")


def test_a_node_that_is_not_ready_cannot_be_sent_anything(client: RecordingClient) -> None:
    """Whoever sends asks first whether the node is ready."""
    with pytest.raises(RuntimeError, match="node 1 is not ready for a request"):
        client.send(client.request("1", HEARTBEAT))


def test_what_the_system_knows_of_a_connection_is_told(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """For as long as there is one."""
    assert client.socket_facts("1") is None
    connect(client, broker.node())
    facts = client.socket_facts("1")
    client.disconnect("1")

    assert facts is not None
    assert facts.send_buffer_bytes > 0
    assert client.socket_facts("1") is None


def test_without_discovery_a_connection_is_ready_at_once(
    make_client: Callable[..., RecordingClient], broker: ScriptedBroker
) -> None:
    """The newest version that kdiag knows is used."""
    client = make_client(STEADY._replace(discovers_versions=False))
    connect(client, broker.node())
    send(client)

    assert client.take()[0].version == 4
    assert [each.name for each in broker.requests] == ["Heartbeat"]


def test_a_host_that_is_unknown_is_no_exception() -> None:
    """The node is not ready, and the reason is kept."""
    nowhere = Node("1", "no-such-host.invalid", 9092)
    with network_client([nowhere]) as client:
        assert not client.ready(nowhere)
        assert client.connection_failed("1")
        assert str(client.connection_error("1")).startswith("no-such-host.invalid:9092: DNS: ")
        assert not client.can_connect("1")


def test_a_closed_node_is_forgotten_with_its_requests(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """Nobody is called back, and a new connection may be made at once."""
    called: list[ClientResponse] = []
    broker.on("Heartbeat", HOLD)
    connect(client, broker.node())
    client.send(client.request("1", HEARTBEAT, on_complete=called.append))
    client.close_node("1")

    assert not client.is_ready("1")
    assert client.in_flight_count("1") == 0
    assert client.poll(0) == []
    assert called == []
    connect(client, broker.node())


def test_all_nodes_can_be_closed_at_once(client: RecordingClient, broker: ScriptedBroker) -> None:
    """Also a second connection to the same broker, of which no metadata tell."""
    for node_id in ("1", "2147483646"):
        connect(client, broker.node(node_id))
    client.close_nodes()
    assert not client.is_ready("1")
    assert not client.is_ready("2147483646")
    connect(client, broker.node())


def test_a_node_may_be_closed_while_it_is_being_connected_to(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """And connected to again."""
    assert not client.ready(broker.node())
    client.close_node("1")
    assert not client.connection_failed("1")
    connect(client, broker.node())


def test_a_version_that_the_node_lacks_is_told_by_the_next_poll(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """Nothing is sent, and that poll does nothing else."""
    connect(client, broker.node())
    request = send(client, HEARTBEAT._replace(versions=Versions(9, 9)))

    (response,) = client.poll(FOREVER_NS)
    assert response.request is request
    assert isinstance(response.error, UnsupportedVersionError)
    assert (response.body, response.version) == (None, None)
    assert broker.asked("Heartbeat") == []


def test_a_message_that_the_version_cannot_say_is_told_by_the_next_poll(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """The version is the one that both know."""
    broker.on("ApiVersions", offering(FindCoordinator=(0, 3)))
    connect(client, broker.node())
    send(client, builder_of(FindCoordinatorRequest(coordinator_keys=["a", "b"])))

    (response,) = client.poll(FOREVER_NS)
    assert isinstance(response.error, EncodeError)
    assert response.version == 3
    assert client.in_flight_count() == 0


def test_a_message_is_built_for_the_version_that_both_know(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """A builder may say the same in different ways."""
    broker.on("ApiVersions", offering(FindCoordinator=(0, 3)))
    broker.on("FindCoordinator", FindCoordinatorResponse(node_id=5))

    def build(version: int) -> Struct:
        if version < 4:
            return FindCoordinatorRequest(key="orders")
        return FindCoordinatorRequest(coordinator_keys=["orders"])

    connect(client, broker.node())
    send(client, builder_of(FindCoordinatorRequest())._replace(build=build))

    assert client.take()[0].body == FindCoordinatorResponse(node_id=5)
    assert broker.wait_for("FindCoordinator").message() == FindCoordinatorRequest(key="orders")


def test_requests_in_flight_are_limited(
    make_client: Callable[..., RecordingClient], broker: ScriptedBroker
) -> None:
    """The node is not ready while it has as many as allowed, but there is a connection."""
    broker.on("Heartbeat", HOLD)
    client = make_client(STEADY._replace(max_in_flight=2))
    connect(client, broker.node())
    send(client)
    send(client)
    arrive(client, broker, 2)
    client.poll(0)

    assert not client.ready(broker.node())
    assert client.least_loaded_node() is None
    broker.wait_for("Heartbeat").reply(HeartbeatResponse())
    client.take()
    assert client.ready(broker.node())


def test_disconnecting_gives_the_requests_back_and_does_not_reset_the_backoff(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """A second call does nothing."""
    broker.on("Heartbeat", HOLD)
    connect(client, broker.node())
    request = send(client)
    client.disconnect("1")

    (response,) = client.poll(FOREVER_NS)
    assert response.request is request
    assert response.is_disconnected
    assert "disconnected from here" in str(response.error)
    delay_ns = client.connection_delay_ns("1")
    assert delay_ns == 50 * MS
    client.time.advance(10 * MS)
    client.disconnect("1")
    assert client.connection_delay_ns("1") == 40 * MS
    assert client.poll(0) == []


def test_a_request_without_an_answer_is_over_when_it_is_written(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """Produce with acks=0; the next request is answered as ever."""
    connect(client, broker.node())
    send(client, builder_of(ProduceRequest(acks=0)))
    (response,) = client.take()
    assert (response.body, response.error, response.is_disconnected) == (None, None, False)
    assert client.in_flight_count() == 0

    send(client)
    assert client.take()[0].body == HeartbeatResponse(error_code=27)


def test_correlation_ids_are_unique_and_leave_room_for_sasl(client: RecordingClient) -> None:
    """The last eight are not used."""
    first = [client.request("1", HEARTBEAT).correlation_id for _ in range(10)]
    assert len(set(first)) == 10

    client._next_correlation_id = 2**31 - 9
    last = [client.request("1", HEARTBEAT).correlation_id for _ in range(2)]
    assert last == [2**31 - 9, 0]


def test_the_delay_before_a_connection_is_its_backoff(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """Nothing at first, endless when connected, and twice as long with each failure."""
    assert client.connection_delay_ns("1") == 0
    connect(client, broker.node())
    assert client.connection_delay_ns("1") == FOREVER_NS

    broker.stop()
    delays = []
    for _ in range(3):
        poll_until(client, lambda: client.connection_failed("1"))
        delays.append(client.connection_delay_ns("1") // MS)
        client.time.advance(delays[-1] * MS)
        client.ready(broker.node())
    assert delays == [50, 100, 200]


def test_the_least_loaded_node_is_tried_by_turns() -> None:
    """The one that was tried longest ago comes first; none while all back off."""
    nodes = [Node(str(number), "127.0.0.1", closed_port()) for number in (1, 2, 3)]
    with network_client(nodes) as client:
        client.time.advance(S)
        tried = []
        for _ in range(6):
            node = client.least_loaded_node()
            assert node is not None
            tried.append(node.id)
            client.ready(node)
            poll_until(client, partial(client.connection_failed, node.id))
            client.time.advance(600 * MS)
        assert sorted(tried[:3]) == ["1", "2", "3"]
        assert tried[3:] == tried[:3]


def test_no_node_is_the_least_loaded_while_the_only_one_backs_off(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """Then there is none."""
    connect(client, broker.node())
    assert client.least_loaded_node() == broker.node()
    client.disconnect("1")

    assert client.least_loaded_node() is None


def test_a_callback_that_raises_keeps_no_other_from_being_called(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """Its exception is raised when all were called."""
    called: list[ClientResponse] = []

    def fail(_: ClientResponse) -> None:
        raise LookupError("a mistake in a callback")

    broker.on("Heartbeat", HOLD)
    connect(client, broker.node())
    client.send(client.request("1", HEARTBEAT, on_complete=fail))
    poll_until(client, lambda: client.can_send_request("1"))
    client.send(client.request("1", HEARTBEAT, on_complete=called.append))
    client.disconnect("1")

    with pytest.raises(LookupError, match="a mistake in a callback"):
        client.poll(0)
    assert len(called) == 1


def test_a_poll_that_waits_is_ended_by_a_wakeup(client: RecordingClient) -> None:
    """From any thread."""
    thread = Thread(target=client.wakeup)
    thread.start()
    assert client.poll(FOREVER_NS) == []
    thread.join()


def test_a_client_that_is_being_closed_refuses_everything(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """Polls as well as sends."""
    connect(client, broker.node())
    request = client.request("1", HEARTBEAT)
    thread = Thread(target=client.initiate_close)
    thread.start()
    with pytest.raises(DisconnectedError, match="the client is closed"):
        poll_until(client, lambda: False)
    thread.join()
    with pytest.raises(DisconnectedError, match="the client is closed"):
        client.send(request)


def test_closing_twice_is_closing_once(client: RecordingClient, broker: ScriptedBroker) -> None:
    """A late wakeup does nothing."""
    connect(client, broker.node())
    client.close()
    client.close()
    client.wakeup()

    with pytest.raises(DisconnectedError, match="the client is closed"):
        client.poll(0)


def send_step(client: RecordingClient, builder: RequestBuilder = HEARTBEAT) -> ClientRequest:
    """Send a request to the connected broker."""
    request = client.request("1", builder)
    poll_until(client, lambda: client.can_send_request("1"))
    client.send(request)
    return request


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
    sent = [send_step(client) for _ in range(3)]
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
    send_step(client)
    arrive(client, broker)
    broker.on("Heartbeat", CLOSE)
    send_step(client)
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
    send_step(client)
    send_step(client)
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
    send_step(client)
    client.take()

    assert not client.ready(broker.node())
    assert client.poll_delay_ns("1") == 100 * MS
    assert client.least_loaded_node() is None
    client.time.advance(100 * MS)
    assert client.ready(broker.node())
    assert client.poll_delay_ns("1") == FOREVER_NS
    assert client.least_loaded_node() == broker.node()


def test_a_version_before_kip_219_is_not_throttled(
    client: RecordingClient, broker: ScriptedBroker
) -> None:
    """Such a broker has waited itself."""
    broker.on("Produce", ProduceResponse(throttle_time_ms=100))
    connect(client, broker.node())
    send_step(client, builder_of(ProduceRequest(acks=1), 5))
    client.take()

    assert client.ready(broker.node())
