from collections.abc import Iterator

import msgspec
import pytest

from client_ends.client_peers import (
    MS,
    STEADY,
    RecordingClient,
    Refused,
    S,
    closed_port,
    network_client,
    poll_until,
    silent_server,
)
from kdiag.client.consumer_network_client import ConsumerNetworkClient
from kdiag.client.network.connection_states import FOREVER_NS
from kdiag.client.network.metadata import Node
from kdiag.client.network.metadata_updater import (
    FollowingMetadataUpdater,
    ManualMetadataUpdater,
    MetadataRefresh,
    RefreshTimes,
)
from kdiag.client.network.rebootstrap import Rebootstrapping
from kdiag.errors import (
    AuthenticationError,
    AuthorizationError,
    Layer,
    UnsupportedVersionError,
)
from kdiag.wire.api.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from scripted_kafka.scripted_broker import CLOSE, HOLD, ScriptedBroker, offering


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    """Yield a broker that says that it is number 1 of a cluster of one."""
    with ScriptedBroker() as peer:
        peer.on("Metadata", metadata_of(peer))
        yield peer


def metadata_of(broker: ScriptedBroker) -> MetadataResponse:
    """Return a cluster of one broker."""
    member = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=broker.port)
    return MetadataResponse(brokers=[member])


def test_metadata_can_be_awaited(broker: ScriptedBroker) -> None:
    """Those that were requested now, not those of before."""
    broker.on("Metadata", metadata_of(broker))
    updater = updater_of(broker.port)
    with network_client(updater) as network:
        client = ConsumerNetworkClient(network)
        for count in (1, 2):
            assert client.await_metadata_update()
            assert len(broker.asked("Metadata")) == count
        assert [node.id for node in updater.nodes()] == ["-1", "1"]


def test_metadata_may_not_come_in_time(broker: ScriptedBroker) -> None:
    """Then nothing is raised."""
    updater = updater_of(broker.port)
    with network_client(updater) as network:
        assert not ConsumerNetworkClient(network).await_metadata_update(0)


def test_refused_credentials_surface_from_a_poll_once() -> None:
    """Without metadata nothing can be done, and only the user can help."""
    with silent_server() as port:
        updater = updater_of(port)
        with network_client(updater, authenticator=Refused) as network:
            client = ConsumerNetworkClient(network)
            with pytest.raises(AuthenticationError, match="wrong password"):
                client.await_metadata_update()
            client.poll_no_wakeup()


def test_metadata_that_cannot_be_had_surface_from_a_poll(broker: ScriptedBroker) -> None:
    """A broker without such an API cannot help."""
    broker.on("ApiVersions", offering(Metadata=(0, -1)))
    updater = updater_of(broker.port)
    with (
        network_client(updater) as network,
        pytest.raises(UnsupportedVersionError, match="does not offer Metadata"),
    ):
        ConsumerNetworkClient(network).await_metadata_update()


def updater_of(*ports: int, lines: list[str] | None = None) -> FollowingMetadataUpdater:
    """Return an updater that asks servers on loopback, without chance; what it reports is kept."""
    servers = [Node(str(-number), "127.0.0.1", port) for number, port in enumerate(ports, 1)]
    rebootstrapping = Rebootstrapping(lambda _limit_ns: servers)
    rebootstrapping.report = ([] if lines is None else lines).append
    updater = FollowingMetadataUpdater(
        servers, times=RefreshTimes(jitter=0.0), rebootstrapping=rebootstrapping
    )
    updater.follow([])
    return updater


def test_a_client_asks_for_metadata_before_anything_else(broker: ScriptedBroker) -> None:
    """No node is ready until there are some; then there is the broker besides the server."""
    updater = updater_of(broker.port)
    with network_client(updater) as client:
        assert client._updater.is_update_due(0)
        assert not client.ready(Node("-1", "127.0.0.1", broker.port))
        poll_until(client, lambda: updater.update_count)

        assert updater.nodes()[1:] == [Node("1", "127.0.0.1", broker.port)]
        assert updater.cluster.brokers[1].port == broker.port
        assert client.ready(Node("-1", "127.0.0.1", broker.port))
        assert client.ended == []
        assert broker.wait_for("Metadata").message() == MetadataRequest(
            topics=[], allow_auto_topic_creation=False
        )


def test_the_topics_that_matter_are_asked_about(broker: ScriptedBroker) -> None:
    """Or all."""
    updater = updater_of(broker.port)
    updater.follow(None)
    with network_client(updater) as client:
        poll_until(client, lambda: updater.update_count)

    asked = broker.wait_for("Metadata").message()
    assert isinstance(asked, MetadataRequest)
    assert asked.topics is None


def test_one_question_is_asked_at_a_time(broker: ScriptedBroker) -> None:
    """Whatever is requested meanwhile."""
    broker.on("Metadata", HOLD)
    updater = updater_of(broker.port)
    with network_client(updater) as client:
        poll_until(client, lambda: broker.asked("Metadata"))
        updater.request_update()
        client.poll(0)

        assert updater.maybe_update(client, 0) == FOREVER_NS
        assert not updater.is_update_due(0)
        assert len(broker.asked("Metadata")) == 1


def test_metadata_are_asked_for_again_when_they_are_old(broker: ScriptedBroker) -> None:
    """After five minutes."""
    updater = updater_of(broker.port)
    with network_client(updater) as client:
        poll_until(client, lambda: updater.update_count)
        client.time.advance(300 * S)
        poll_until(client, lambda: updater.update_count == 2)


def test_an_answer_without_brokers_is_a_failed_attempt(broker: ScriptedBroker) -> None:
    """The broker is starting; it is asked again after the backoff."""
    broker.on("Metadata", MetadataResponse())
    updater = updater_of(broker.port)
    with network_client(updater) as client:
        poll_until(client, lambda: broker.asked("Metadata") and not updater._is_asking)
        assert updater.cluster.brokers == {}
        assert updater.refresh.delay_ns(0) == 100 * MS
        broker.on("Metadata", metadata_of(broker))
        client.time.advance(100 * MS)
        poll_until(client, lambda: updater.update_count)


def test_a_lost_connection_makes_an_update_due(broker: ScriptedBroker) -> None:
    """The cluster may have changed."""
    updater = updater_of(broker.port)
    with network_client(updater) as client:
        poll_until(client, lambda: updater.update_count)
        assert not updater.refresh.is_requested
        broker.hang_up()
        poll_until(client, lambda: client.connection_failed("-1"))

        assert updater.refresh.is_requested


def test_metadata_that_were_lost_are_asked_for_again(broker: ScriptedBroker) -> None:
    """On a new connection, after the backoff."""
    broker.on("Metadata", CLOSE)
    updater = updater_of(broker.port)
    with network_client(updater) as client:
        poll_until(client, lambda: broker.asked("Metadata") and not updater._is_asking)
        assert updater.refresh.delay_ns(0) > 0
        broker.on("Metadata", metadata_of(broker))
        client.time.advance(S)
        poll_until(client, lambda: updater.update_count)
    assert client.ended == []


def test_closing_the_node_that_is_asked_lets_another_be_asked(broker: ScriptedBroker) -> None:
    """Otherwise the updater would wait for ever."""
    broker.on("Metadata", HOLD)
    updater = updater_of(broker.port)
    with network_client(updater) as client:
        poll_until(client, lambda: broker.asked("Metadata"))
        client.close_node("-1")
        broker.on("Metadata", metadata_of(broker))
        client.time.advance(S)
        poll_until(client, lambda: updater.update_count)


def test_a_server_that_is_off_is_followed_by_the_next(broker: ScriptedBroker) -> None:
    """Whichever chance has put first."""
    updater = updater_of(closed_port(), broker.port, closed_port())
    with network_client(updater) as client:

        def is_updated() -> bool:
            client.time.advance(10 * MS)
            return bool(updater.update_count)

        poll_until(client, is_updated)


def poll_for(client: RecordingClient, seconds: float) -> None:
    """Poll while so much time passes, in tenths of a second."""
    for _ in range(int(seconds * 10)):
        client.poll(0)
        client.poll(MS)
        client.time.advance(S // 10)


def test_brokers_that_cannot_be_reached_make_it_ask_the_bootstrap_servers(
    broker: ScriptedBroker,
) -> None:
    """KIP-899: they are looked up again, and it is reported, as is where the brokers are now."""
    lines: list[str] = []
    updater = updater_of(broker.port, lines=lines)
    gone = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=closed_port())
    broker.on("Metadata", MetadataResponse(brokers=[gone]))
    with network_client(updater) as client, ScriptedBroker() as other:
        poll_until(client, lambda: updater.update_count)
        other.on("Metadata", metadata_of(other))
        broker.stop()
        moved = Node("-2", "127.0.0.1", other.port)
        updater.rebootstrapping._look_up = lambda _limit_ns: [moved] if lines else []
        poll_for(client, 6)
    assert updater.nodes() == [moved, Node("1", "127.0.0.1", other.port)]
    before, after = f"127.0.0.1:{gone.port}", f"127.0.0.1:{other.port}"
    assert lines == [
        f"the broker at {before} does not answer; asking the bootstrap servers again",
        f"the bootstrap servers name the broker at {after} in place of {before}",
    ]


def test_one_broker_that_is_left_is_enough(broker: ScriptedBroker) -> None:
    """Two of three are dead: nothing is reported, and no bootstrap server is asked."""
    lines: list[str] = []
    updater = updater_of(broker.port, lines=lines)
    dead = [
        MetadataResponseBroker(node_id=number, host="127.0.0.1", port=closed_port())
        for number in (2, 3)
    ]
    broker.on("Metadata", MetadataResponse(brokers=[*metadata_of(broker).brokers, *dead]))
    with network_client(updater) as client:
        poll_until(client, lambda: updater.update_count)
        updater.known = updater.known[1:]
        updater.request_update()
        poll_for(client, 3)
        assert updater.update_count > 1
    assert (lines, [each.id for each in updater.nodes()]) == ([], ["1", "2", "3"])


def test_a_connection_that_is_made_again_at_once_is_not_reported(broker: ScriptedBroker) -> None:
    """A broker hangs up on connections that were idle for long."""
    lines: list[str] = []
    updater = updater_of(broker.port, lines=lines)
    with network_client(updater) as client:
        poll_until(client, lambda: updater.update_count)
        broker.hang_up()
        poll_for(client, 2)
        assert updater.update_count > 1
    assert lines == []


def test_when_no_broker_has_answered_for_minutes_it_begins_with_the_servers_again(
    broker: ScriptedBroker,
) -> None:
    """KIP-1102: though there is a connection to one, which throttles here."""
    updater = updater_of(broker.port)
    with network_client(updater) as client, ScriptedBroker() as other:
        poll_until(client, lambda: updater.update_count)
        other.on("Metadata", metadata_of(other))
        updater.rebootstrapping._look_up = lambda _limit_ns: [other.node("-2")]
        updater.known = updater.known[:1]
        client._states.throttle("-1", FOREVER_NS)
        updater.request_update()
        client.poll(0)
        client.time.advance(299 * S)
        poll_for(client, 0.5)
        assert updater.update_count == 1
        client.time.advance(S)
        poll_for(client, 2)
        assert updater.update_count > 1


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ({"error_code": 129}, "the broker asks its clients to start over (REBOOTSTRAP_REQUIRED)"),
        ({"cluster_id": "B"}, "another cluster answers: its id is B, not A"),
        ({"cluster_id": None}, None),
    ],
    ids=["KIP-1102", "another cluster", "an old broker"],
)
@pytest.mark.thorough
def test_a_broker_may_be_of_no_use_though_it_answers(
    broker: ScriptedBroker, answer: dict[str, object], line: str | None
) -> None:
    """Then it is left for the bootstrap servers, which is reported once."""
    good = metadata_of(broker)
    good.cluster_id = "A"
    broker.on("Metadata", good)
    lines: list[str] = []
    updater = updater_of(broker.port, lines=lines)
    with network_client(updater) as client:
        poll_until(client, lambda: updater.update_count)
        broker.on("Metadata", msgspec.structs.replace(good, **answer))
        updater.request_update()
        poll_for(client, 5)
        refused = updater.update_count == 1
        asked = len(broker.asked("Metadata"))
        broker.on("Metadata", good)
        updater.request_update()
        poll_for(client, 3)
    assert refused is (line is not None)
    assert lines == ([] if line is None else [f"{line}; asking the bootstrap servers again"])
    assert (asked > 2, updater.update_count >= 2) == (refused, True)


def test_the_refusal_of_one_node_loses_no_answer_of_another(broker: ScriptedBroker) -> None:
    """The answer comes on its own connection; the refusal is told once."""
    broker.on("Metadata", HOLD)
    updater = updater_of(broker.port)
    refusal = AuthenticationError("other:9092", Layer.SASL, "wrong password")
    with network_client(updater) as client:
        poll_until(client, lambda: broker.asked("Metadata"))
        updater.handle_disconnect(refusal, 0)
        broker.wait_for("Metadata").reply(metadata_of(broker))
        poll_until(client, lambda: updater.update_count)

    assert updater.pop_error() is refusal
    assert updater.pop_error() is None


def test_nodes_that_were_given_are_never_asked_for() -> None:
    """Whatever happens to them."""
    node = Node("1", "127.0.0.1", 9092)
    updater = ManualMetadataUpdater([node])
    with network_client(updater, STEADY) as client:
        assert updater.nodes() == [node]
        assert updater.maybe_update(client, 0) == FOREVER_NS
        assert not updater.is_update_due(0)
        updater.handle_disconnect(AuthenticationError("h:1", Layer.SASL, "x"), 0)
        updater.handle_failed_request(None, 0)
        updater.request_update()

        assert updater.pop_error() is None
        assert updater.update_count == 0


def test_nodes_are_only_asked_for_once_topics_are_followed(broker: ScriptedBroker) -> None:
    """Until then they are those that others set."""
    bootstrap = Node("-1", "127.0.0.1", broker.port)
    updater = FollowingMetadataUpdater([bootstrap])
    with network_client(updater) as network:
        client = ConsumerNetworkClient(network)
        updater.handle_disconnect(AuthenticationError("h:1", Layer.SASL, "x"), 0)
        client.poll_no_wakeup()
        assert (updater.is_stale, updater.nodes()) == (True, [bootstrap])
        assert updater.maybe_update(network, 0) == FOREVER_NS
        assert broker.asked("Metadata") == []

        updater.follow(["orders"])
        assert client.await_metadata_update()
        assert (updater.is_stale, updater.update_count) == (False, 1)
        assert [node.id for node in updater.nodes()] == ["-1", "1"]
        asked = broker.asked("Metadata")[0].message()
        assert isinstance(asked, MetadataRequest)
        assert [each.name for each in asked.topics or ()] == ["orders"]


def test_new_topics_are_asked_for_at_once_and_old_ones_when_they_are_old(
    broker: ScriptedBroker,
) -> None:
    """An answer about others than are followed is not enough."""
    updater = FollowingMetadataUpdater([broker.node("-1")])
    times = RefreshTimes(max_age_ns=S, retry_backoff_ns=0, retry_backoff_max_ns=0)
    with network_client(updater) as network:
        client = ConsumerNetworkClient(network)
        updater.follow(["orders"], times)
        broker.on("Metadata", HOLD)
        while not broker.asked("Metadata"):
            client.poll(network.time.monotonic_ns() + MS)
        updater.follow(["orders", "bills"])
        broker.on("Metadata", metadata_of(broker))
        broker.wait_for("Metadata").reply(metadata_of(broker))
        client.await_condition(lambda: updater.update_count == 1)
        assert updater.is_stale
        client.await_condition(lambda: not updater.is_stale)
        updater.follow(["bills", "orders"])
        assert not updater.is_update_due(network.time.monotonic_ns())
        network.time.advance(S)
        assert updater.is_update_due(network.time.monotonic_ns())


def test_a_topic_that_is_not_there_yet_is_asked_for_again(broker: ScriptedBroker) -> None:
    """As long as it takes, less and less often."""
    answer = metadata_of(broker)
    answer.topics = [MetadataResponseTopic(error_code=3, name="orders")]
    broker.on("Metadata", answer)
    updater = FollowingMetadataUpdater([broker.node("-1")])
    times = RefreshTimes(retry_backoff_ns=100 * MS, jitter=0.0)
    with network_client(updater) as network:
        client = ConsumerNetworkClient(network)
        updater.follow(["orders"], times)
        waits = []
        for _ in range(4):
            client.await_metadata_update()
            waits.append(updater.refresh.delay_ns(network.time.monotonic_ns()) // MS)
            network.time.advance(S)
        assert waits == [0, 100, 200, 400]
        broker.on("Metadata", metadata_of(broker))
        client.await_metadata_update()
        assert updater.refresh.delay_ns(network.time.monotonic_ns()) > S


def test_a_topic_that_may_not_be_seen_is_an_error_once(broker: ScriptedBroker) -> None:
    """It says which, and what to allow."""
    answer = metadata_of(broker)
    answer.topics = [MetadataResponseTopic(error_code=29, name="orders")]
    broker.on("Metadata", answer)
    updater = FollowingMetadataUpdater([broker.node("-1")])
    with network_client(updater) as network:
        client = ConsumerNetworkClient(network)
        updater.follow(["orders"])
        with pytest.raises(AuthorizationError, match="may not see orders; allow the operation"):
            client.await_metadata_update()
        client.poll_no_wakeup()


TIMES = RefreshTimes(max_age_ns=10_000, retry_backoff_ns=100, retry_backoff_max_ns=400, jitter=0.0)


def updated(now_ns: int = 0) -> MetadataRefresh:
    """Return a refresh that has just had its first answer."""
    refresh = MetadataRefresh(TIMES)
    refresh.succeeded(now_ns, is_equivalent=False)
    return refresh


def test_the_first_update_is_due_at_once() -> None:
    """Nothing is known yet."""
    refresh = MetadataRefresh(TIMES)

    assert refresh.is_requested
    assert refresh.delay_ns(0) == 0


def test_an_answer_is_good_until_it_is_too_old() -> None:
    """Then the next is due, requested or not."""
    refresh = updated()

    assert not refresh.is_requested
    assert refresh.delay_ns(1) == 9_999
    assert refresh.delay_ns(10_000) == 0


def test_a_request_makes_an_update_due() -> None:
    """At once, if the last answer was of use."""
    refresh = updated()
    refresh.request_update()

    assert refresh.delay_ns(1) == 0


def test_failures_back_off_more_and_more() -> None:
    """Up to the maximum; an answer ends that."""
    refresh = updated()
    refresh.request_update()
    delays = []
    for _ in range(5):
        refresh.failed(1_000)
        delays.append(refresh.delay_ns(1_000))
    assert delays == [100, 200, 400, 400, 400]

    refresh.succeeded(2_000, is_equivalent=False)
    refresh.request_update()
    assert refresh.delay_ns(2_000) == 0


def test_answers_that_tell_nothing_new_back_off_more_and_more() -> None:
    """Otherwise who waits for a leader would ask in a loop."""
    refresh = updated()
    delays = []
    for _ in range(4):
        refresh.request_update()
        refresh.succeeded(1_000, is_equivalent=True)
        refresh.request_update()
        delays.append(refresh.delay_ns(1_000))
    assert delays == [100, 200, 400, 400]


def test_expecting_something_new_ends_the_backoff() -> None:
    """Unless the last attempt has failed, which is another matter."""
    refresh = updated()
    refresh.request_update()
    refresh.succeeded(1_000, is_equivalent=True)
    refresh.request_update(reset_equivalents=True)
    assert refresh.delay_ns(1_000) == 0

    refresh.failed(1_000)
    refresh.request_update(reset_equivalents=True)
    assert refresh.delay_ns(1_000) == 100


def test_an_answer_that_was_only_due_to_age_may_tell_nothing_new() -> None:
    """Nobody has waited for anything."""
    refresh = updated()
    refresh.succeeded(10_000, is_equivalent=True)
    refresh.request_update()

    assert refresh.delay_ns(10_000) == 0
