from collections.abc import Callable
from threading import Event, Thread

import pytest

from client_ends.client_peers import (
    MS,
    STEADY,
    RecordingClient,
    Refused,
    S,
    Security,
    network_client,
    silent_server,
)
from kdiag.client.consumer_network_client import ConsumerNetworkClient, ResponseFuture
from kdiag.client.network.connection_states import FOREVER_NS
from kdiag.client.network.metadata import Node
from kdiag.client.network.metadata_updater import FollowingMetadataUpdater
from kdiag.client.network.request import builder_of
from kdiag.client.network.settings import NetworkSettings
from kdiag.errors import (
    AuthenticationError,
    ConnectError,
    DisconnectedError,
    RequestTimeoutError,
    UnsupportedVersionError,
    WakeupError,
)
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.schema import Versions
from scripted_kafka.scripted_broker import HOLD, ScriptedBroker

HEARTBEAT = builder_of(HeartbeatRequest(group_id="orders"))
FIND = builder_of(FindCoordinatorRequest(coordinator_keys=["orders"]))
ANSWER = HeartbeatResponse(error_code=27)


@pytest.fixture
def network(make_client: Callable[[], RecordingClient]) -> RecordingClient:
    """Return the network client beneath."""
    return make_client()


@pytest.fixture
def client(network: RecordingClient) -> ConsumerNetworkClient:
    """Return a client whose clock stands still."""
    return ConsumerNetworkClient(network, request_timeout_ns=10 * S)


def await_arrival(client: ConsumerNetworkClient, broker: ScriptedBroker, name: str) -> None:
    """Poll, a little while each time, until a request has come to the broker."""
    while not broker.asked(name):
        client.poll(client._clock.monotonic_ns() + 5 * MS)


def test_a_request_waits_until_its_node_is_ready(
    client: ConsumerNetworkClient, broker: ScriptedBroker
) -> None:
    """`send` only queues it; polls connect, send and complete the future."""
    future = client.send(broker.node(), HEARTBEAT)
    assert client.pending_count() == client.pending_count("1") == 1
    assert broker.connections == 0
    assert not future.is_done

    assert client.await_future(future)
    assert future.value().body == ANSWER
    assert client.pending_count() == client.pending_count("1") == 0


def test_an_answer_does_not_lead_back_to_its_future(
    client: ConsumerNetworkClient, broker: ScriptedBroker
) -> None:
    """The garbage collector does not look at structs: such a circle would never be freed."""
    future = client.send(broker.node(), HEARTBEAT)
    assert client.await_future(future)
    assert future.value().request.on_complete is None
    assert future.value().request.builder is HEARTBEAT


def test_several_requests_keep_their_order(
    client: ConsumerNetworkClient, broker: ScriptedBroker
) -> None:
    """All of them are awaited at once."""
    futures = [client.send(broker.node(), HEARTBEAT) for _ in range(8)]
    assert client.pending_count("1") == 8

    assert client.await_pending("1")
    assert all(each.succeeded for each in futures)
    asked = [each.header.correlation_id for each in broker.asked("Heartbeat")]
    assert asked == sorted(asked)


def test_refused_credentials_fail_requests_now_and_again_while_the_node_backs_off() -> None:
    """Without another attempt."""
    with silent_server() as port, network_client(authenticator=Refused) as network:
        client = ConsumerNetworkClient(network)
        node = Node("1", "127.0.0.1", port)
        for _ in range(2):
            future = client.send(node, HEARTBEAT)
            client.await_future(future)
            assert isinstance(future.error(), AuthenticationError)
            assert not future.is_retriable


def test_an_unreachable_node_fails_its_requests_with_the_reason(
    client: ConsumerNetworkClient, broker: ScriptedBroker, security: Security
) -> None:
    """All that wait for it; those for other nodes go on."""
    broker.stop()
    with ScriptedBroker(tls=security.server) as other:
        other.on("Heartbeat", ANSWER)
        lost = [client.send(broker.node(), HEARTBEAT) for _ in range(2)]
        answered = client.send(other.node("2"), HEARTBEAT)
        client.await_condition(lambda: all(each.is_done for each in (*lost, answered)))

    for each in lost:
        assert isinstance(each.error(), ConnectError)
        assert "connection refused" in str(each.error())
    assert answered.succeeded


def test_disconnecting_fails_what_was_not_sent(
    client: ConsumerNetworkClient, broker: ScriptedBroker
) -> None:
    """As if the connection had ended."""
    future = client.send(broker.node(), HEARTBEAT)
    client.disconnect_async("1")
    client.poll_no_wakeup()

    assert isinstance(future.error(), DisconnectedError)
    assert client.pending_count() == 0


def test_disconnecting_fails_what_is_in_flight(
    client: ConsumerNetworkClient, broker: ScriptedBroker
) -> None:
    """The broker's answer would come too late."""
    broker.on("Heartbeat", HOLD)
    future = client.send(broker.node(), HEARTBEAT)
    await_arrival(client, broker, "Heartbeat")
    client.disconnect_async("1")
    client.await_future(future)

    assert isinstance(future.error(), DisconnectedError)


def test_a_connection_that_ends_fails_what_is_in_flight(
    client: ConsumerNetworkClient, broker: ScriptedBroker
) -> None:
    """Nobody has to look whether a response was disconnected."""
    broker.on("Heartbeat", HOLD)
    future = client.send(broker.node(), HEARTBEAT)
    await_arrival(client, broker, "Heartbeat")
    broker.hang_up()
    client.await_future(future)

    assert isinstance(future.error(), DisconnectedError)
    assert future.is_retriable


def test_a_request_that_cannot_be_sent_in_time_fails_with_what_was_waited_for(
    client: ConsumerNetworkClient, network: RecordingClient, broker: ScriptedBroker
) -> None:
    """Here the answer to ApiVersions."""
    broker.on("ApiVersions", HOLD)
    future = client.send(broker.node(), HEARTBEAT, timeout_ns=S)
    await_arrival(client, broker, "ApiVersions")
    network.time.advance(S)
    client.poll_no_wakeup()
    assert not future.is_done
    network.time.advance(1)
    client.poll_no_wakeup()

    assert "did not answer the ApiVersions request within 1 s" in str(future.error())


def test_only_requests_that_have_waited_too_long_expire(
    make_client: Callable[[NetworkSettings], RecordingClient], broker: ScriptedBroker
) -> None:
    """The first is in flight, the second becomes too old behind it, the third is sent later."""
    broker.on("Heartbeat", HOLD)
    network = make_client(STEADY._replace(max_in_flight=1))
    client = ConsumerNetworkClient(network, request_timeout_ns=10 * S)
    first = client.send(broker.node(), HEARTBEAT)
    await_arrival(client, broker, "Heartbeat")
    second = client.send(broker.node(), HEARTBEAT, timeout_ns=3 * S)
    client.poll_no_wakeup()
    network.time.advance(2 * S)
    third = client.send(broker.node(), HEARTBEAT, timeout_ns=3 * S)
    client.poll_no_wakeup()
    network.time.advance(2 * S)
    client.poll_no_wakeup()

    assert isinstance(second.error(), RequestTimeoutError)
    assert "Heartbeat could not be sent within 3 s" in str(second.error())
    assert not first.is_done
    assert not third.is_done
    assert client.pending_count("1") == 2
    broker.on("Heartbeat", ANSWER)
    broker.wait_for("Heartbeat").reply(ANSWER)
    client.await_future(third)
    assert first.succeeded
    assert third.succeeded


def test_a_version_that_is_not_shared_fails_the_future(
    client: ConsumerNetworkClient, broker: ScriptedBroker
) -> None:
    """It is not sent."""
    future = client.send(broker.node(), HEARTBEAT._replace(versions=Versions(9, 9)))
    client.await_future(future)

    assert isinstance(future.error(), UnsupportedVersionError)
    assert broker.asked("Heartbeat") == []


def test_a_poll_does_not_wait_when_there_is_no_need(
    client: ConsumerNetworkClient, network: RecordingClient
) -> None:
    """Its condition holds already."""
    client.poll(FOREVER_NS, lambda: True)

    assert network.waits_ns == [0]


def test_a_poll_waits_while_something_is_in_flight(
    client: ConsumerNetworkClient, network: RecordingClient, broker: ScriptedBroker
) -> None:
    """As long as the caller allows, but never longer than five seconds."""
    broker.on("Heartbeat", HOLD)
    client.send(broker.node(), HEARTBEAT)
    await_arrival(client, broker, "Heartbeat")
    for deadline_ns in (3 * S, FOREVER_NS):
        network.wakeup()
        client.poll(deadline_ns, lambda: False)

    assert network.waits_ns[-2:] == [3 * S, 5 * S]


def test_a_poll_waits_only_for_the_backoff_while_nothing_is_in_flight(
    client: ConsumerNetworkClient, network: RecordingClient
) -> None:
    """Somebody may want to try again."""
    network.wakeup()
    client.poll(3 * S, lambda: False)

    assert network.waits_ns == [100 * MS]


def test_a_poll_never_waits_past_its_deadline(
    client: ConsumerNetworkClient, network: RecordingClient
) -> None:
    """A deadline that is over means not at all, and the future is not done."""
    network.time.advance(S)

    assert not client.await_future(ResponseFuture(), S - 1)
    assert not client.await_future(ResponseFuture(), S)
    assert network.waits_ns == [0, 0]


def test_a_wakeup_is_raised_once_and_loses_no_request(
    client: ConsumerNetworkClient, broker: ScriptedBroker
) -> None:
    """A poll that cannot be woken leaves it to the next."""
    future = client.send(broker.node(), HEARTBEAT)
    client.wakeup()
    client.poll_no_wakeup()
    with pytest.raises(WakeupError):
        client.poll(0)

    assert client.await_future(future)
    assert future.succeeded


def test_a_wakeup_ends_a_poll_of_another_thread(
    client: ConsumerNetworkClient, broker: ScriptedBroker
) -> None:
    """Which waits for an answer that does not come."""
    broker.on("Heartbeat", HOLD)
    future = client.send(broker.node(), HEARTBEAT)
    await_arrival(client, broker, "Heartbeat")
    thread = Thread(target=client.wakeup)
    thread.start()
    with pytest.raises(WakeupError):
        client.await_future(future)
    thread.join()
    assert not future.is_done


def test_disconnecting_ends_a_poll_of_another_thread(
    client: ConsumerNetworkClient, broker: ScriptedBroker
) -> None:
    """The future of that thread fails."""
    broker.on("Heartbeat", HOLD)
    future = client.send(broker.node(), HEARTBEAT)
    await_arrival(client, broker, "Heartbeat")
    thread = Thread(target=client.disconnect_async, args=["1"])
    thread.start()
    client.await_future(future)
    thread.join()

    assert isinstance(future.error(), DisconnectedError)


def test_the_poll_of_one_thread_completes_the_future_of_another(
    client: ConsumerNetworkClient, broker: ScriptedBroker
) -> None:
    """Whichever has the lock polls for both, and each wakes up the other."""
    broker.on("Heartbeat", HOLD)
    broker.on("FindCoordinator", HOLD)
    slow = client.send(broker.node(), HEARTBEAT)
    quick = client.send(broker.node(), FIND)
    thread = Thread(target=client.await_future, args=[slow])
    thread.start()
    broker.wait_for("Heartbeat")
    broker.wait_for("FindCoordinator")
    answering = Thread(target=broker.wait_for("Heartbeat").reply, args=[ANSWER])
    answering.start()
    answering.join()
    broker.wait_for("FindCoordinator").reply(FindCoordinatorResponse())
    client.await_future(quick)
    thread.join()

    assert slow.succeeded
    assert quick.succeeded


def test_a_listener_runs_without_the_lock(
    client: ConsumerNetworkClient, broker: ScriptedBroker
) -> None:
    """Another thread can use the client meanwhile, and the listener itself can send."""
    counted: list[int] = []
    following: list[ResponseFuture] = []
    may_go_on = Event()

    def count() -> None:
        counted.append(client.pending_count())
        may_go_on.set()

    def listen(_: object) -> None:
        following.append(client.send(broker.node(), HEARTBEAT))
        thread = Thread(target=count)
        thread.start()
        assert may_go_on.wait(30)
        thread.join()

    future = client.send(broker.node(), HEARTBEAT)
    future.add_listener(listen)
    client.await_future(future)

    assert counted == [1]
    client.await_future(following[0])
    assert following[0].succeeded


@pytest.mark.thorough
def test_two_threads_get_every_answer(
    client: ConsumerNetworkClient, broker: ScriptedBroker
) -> None:
    """Each asks and waits, again and again, on the same connection."""
    answered: list[ResponseFuture] = []

    def work() -> None:
        for _ in range(100):
            future = client.send(broker.node(), HEARTBEAT)
            client.await_future(future)
            answered.append(future)

    threads = [Thread(target=work) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert [each.succeeded for each in answered] == [True] * 200
    assert len(broker.asked("Heartbeat")) == 200


def test_a_second_thread_does_not_wait_for_the_first(
    client: ConsumerNetworkClient, broker: ScriptedBroker
) -> None:
    """Which waits for an answer; it sends what the second has queued."""
    broker.on("FindCoordinator", HOLD)
    broker.on("Heartbeat", HOLD)
    slow = client.send(broker.node(), FIND)
    waiting = Thread(target=client.await_future, args=[slow])
    waiting.start()
    broker.wait_for("FindCoordinator")
    quick = client.send(broker.node(), HEARTBEAT)
    client.poll_if_free()
    assert not slow.is_done
    received = broker.wait_for("Heartbeat")
    broker.wait_for("FindCoordinator").reply(FindCoordinatorResponse())
    waiting.join()
    received.reply(ANSWER)
    client.await_future(quick)
    assert quick.value().body == ANSWER


def test_a_thread_alone_polls_without_waiting(
    client: ConsumerNetworkClient, network: RecordingClient, broker: ScriptedBroker
) -> None:
    """A wakeup is left for whoever waits."""
    client.wakeup()
    future = client.send(broker.node(), HEARTBEAT)
    while not future.is_done:
        client.poll_if_free()
    assert set(network.waits_ns) == {0}
    with pytest.raises(WakeupError):
        client.poll(0)


def test_an_error_of_metadata_is_raised_to_whichever_thread_polls() -> None:
    """Once."""
    with silent_server() as port:
        updater = FollowingMetadataUpdater([Node("-1", "127.0.0.1", port)])
        updater.follow([])
        with network_client(updater, authenticator=Refused) as network:
            client = ConsumerNetworkClient(network)
            errors: list[str] = []
            while not errors:
                try:
                    client.poll_if_free()
                except AuthenticationError as error:
                    errors.append(error.why)
            client.poll_if_free()
            assert errors == ["wrong password"]


def test_a_node_is_unavailable_from_its_failure_until_it_may_be_tried_again(
    client: ConsumerNetworkClient, network: RecordingClient, broker: ScriptedBroker
) -> None:
    """One that was never connected to is not."""
    assert client.unavailable_ns("1") == 0
    client.try_connect(broker.node())
    assert client.unavailable_ns("1") == 0
    client.await_future(client.send(broker.node(), HEARTBEAT))
    client.disconnect_async("1")
    client.poll_no_wakeup()
    assert client.unavailable_ns("1") > 0
    network.time.advance(50 * MS)
    assert client.unavailable_ns("1") == 0


def test_any_node_may_be_the_one_to_ask(
    client: ConsumerNetworkClient, broker: ScriptedBroker
) -> None:
    """Unless none may be asked."""
    assert client.least_loaded_node() == broker.node()
    client.await_future(client.send(broker.node(), HEARTBEAT))
    client.disconnect_async("1")
    client.poll_no_wakeup()
    assert client.least_loaded_node() is None


def test_the_network_client_is_lent_to_one_thread_at_a_time(
    client: ConsumerNetworkClient, network: RecordingClient
) -> None:
    """Another waits until it is given back."""
    counted = Event()

    def count() -> None:
        client.pending_count()
        counted.set()

    thread = Thread(target=count)
    with client.network() as lent:
        assert lent is network
        thread.start()
        assert not counted.is_set()
    thread.join()
    assert counted.is_set()


@pytest.mark.timeout(30)
def test_the_thread_that_has_the_network_client_can_close_it(
    client: ConsumerNetworkClient,
) -> None:
    """Ctrl-C may leave it with the main thread, which closes everything then."""
    with client.network():
        client.close()
