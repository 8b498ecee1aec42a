from collections.abc import Callable
from functools import partial
from threading import Thread

import pytest

from client_ends.client_peers import (
    MS,
    STEADY,
    RecordingClient,
    S,
    closed_port,
    connect,
    network_client,
    poll_until,
)
from kdiag.client.network.connection_states import FOREVER_NS
from kdiag.client.network.node import Node
from kdiag.client.network.request import ClientRequest, ClientResponse, RequestBuilder, builder_of
from kdiag.errors import (
    DisconnectedError,
    EncodeError,
    UnsupportedVersionError,
)
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.produce import ProduceRequest
from kdiag.wire.schema import Struct, Versions
from scripted_kafka.scripted_broker import HOLD, ScriptedBroker, offering

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
    assert client.least_loaded_node().node is None
    assert client.least_loaded_node().is_any_available
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

    client._steps._next_correlation_id = 2**31 - 9
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
            node = client.least_loaded_node().node
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
    """Then the cluster is not available."""
    connect(client, broker.node())
    assert client.least_loaded_node().node == broker.node()
    client.disconnect("1")

    least_loaded = client.least_loaded_node()
    assert least_loaded.node is None
    assert not least_loaded.is_any_available


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
