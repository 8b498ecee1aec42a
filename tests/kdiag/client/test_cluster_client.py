import socket
from collections.abc import Iterator

import pytest

from client_ends.client_peers import closed_port, full_server, plaintext
from kdiag.client.cluster_client import Answer, ClusterClient, ClusterSettings
from kdiag.client.network.metadata import Broker
from kdiag.client.network.request import RequestBuilder
from kdiag.client.network.settings import IMPATIENT, NetworkSettings
from kdiag.clock import ManualClock, SystemClock
from kdiag.errors import (
    ConnectError,
    DecodeError,
    EncodeError,
    Layer,
    RequestTimeoutError,
    UnsupportedVersionError,
)
from kdiag.net.address import Address
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.list_groups import ListGroupsRequest, ListGroupsResponse
from kdiag.wire.api.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from kdiag.wire.api.produce import ProduceRequest, ProduceResponse
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.schema import Struct, Versions
from scripted_kafka.scripted_broker import CLOSE, HOLD, Received, ScriptedBroker, offering
from scripted_kafka.scripted_cluster import ScriptedCluster

MS = 1_000_000
QUESTION = FindCoordinatorRequest(coordinator_keys=["orders"])


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Yield three brokers that each call themselves the coordinator."""
    with ScriptedCluster(3) as brokers:
        for number, broker in brokers.brokers.items():
            broker.on("FindCoordinator", FindCoordinatorResponse(throttle_time_ms=number))
        yield brokers


@pytest.fixture
def client(cluster: ScriptedCluster) -> Iterator[ClusterClient]:
    """Yield a client of theirs, connected."""
    with cluster.client() as connected:
        yield connected


def told(answer: Answer[FindCoordinatorResponse]) -> int:
    """Return the number that a broker has put into its answer."""
    assert answer.body is not None
    return answer.body.throttle_time_ms


def test_a_client_knows_the_brokers_once_it_is_connected(
    client: ClusterClient, cluster: ScriptedCluster
) -> None:
    """By ascending id, at the addresses that they advertise."""
    assert client.brokers == [
        Broker(number, "127.0.0.1", broker.port, f"rack-{number}")
        for number, broker in cluster.brokers.items()
    ]
    assert not client.cluster.is_bootstrap


def test_one_broker_is_asked(client: ClusterClient, cluster: ScriptedCluster) -> None:
    """The one that is named."""
    answer = client.ask(2, QUESTION, FindCoordinatorResponse)

    assert answer.throttle_time_ms == 2
    assert cluster.brokers[2].wait_for("FindCoordinator").message() == QUESTION
    assert cluster.brokers[1].asked("FindCoordinator") == []
    assert client.api_versions(2) is not None
    assert client.api_versions(3) is None


def test_what_the_system_knows_of_a_connection_is_told(client: ClusterClient) -> None:
    """Of one that is there."""
    client.ask(2, QUESTION, FindCoordinatorResponse)
    facts = client.socket_facts(2)

    assert facts is not None
    assert facts.rtt_ns is not None
    assert client.socket_facts(3) is None


def test_all_brokers_are_asked_at_the_same_time(
    client: ClusterClient, cluster: ScriptedCluster
) -> None:
    """Nobody answers before everybody was asked; each answer tells its time and version."""

    def answer_when_all_are_asked(received: Received) -> None:
        for broker in cluster.brokers.values():
            broker.wait_for("FindCoordinator")
        received.reply(FindCoordinatorResponse())

    cluster.on("FindCoordinator", answer_when_all_are_asked)
    answers = client.ask_all(dict.fromkeys((3, 1, 2), QUESTION), FindCoordinatorResponse)

    assert list(answers) == [3, 1, 2]
    for answer in answers.values():
        assert answer.error is None
        assert answer.version == 6
        assert answer.rtt_ns is not None
        assert answer.rtt_ns > 0


def test_one_broker_is_asked_several_questions_at_once(client: ClusterClient) -> None:
    """The answers come in the order of the questions."""
    questions = [(broker_id, QUESTION) for broker_id in (1, 2, 1, 3, 1, 1, 1, 1, 1)]
    answers = client.ask_each(questions, FindCoordinatorResponse)

    assert [told(each) for each in answers] == [1, 2, 1, 3, 1, 1, 1, 1, 1]


def test_each_broker_fails_alone(client: ClusterClient, cluster: ScriptedCluster) -> None:
    """One is off and one hangs up: the third has answered all the same."""
    cluster.brokers[1].stop()
    cluster.brokers[2].on("FindCoordinator", CLOSE)
    answers = client.ask_all(dict.fromkeys((1, 2, 3), QUESTION), FindCoordinatorResponse)

    refused, closed = answers[1].error, answers[2].error
    assert isinstance(refused, ConnectError)
    assert refused.why.startswith("connection refused")
    assert isinstance(closed, ConnectError)
    assert "closed the connection" in closed.why
    assert client.connection_error(2) is closed
    assert told(answers[3]) == 3


def test_an_advertised_address_that_leads_nowhere_is_told(cluster: ScriptedCluster) -> None:
    """The others are reached; the bootstrap server has answered, so it is not the network."""
    port = closed_port()
    brokers = [
        MetadataResponseBroker(node_id=number, host="127.0.0.1", port=broker.port)
        for number, broker in cluster.brokers.items()
    ]
    brokers[1].port = port
    cluster.on("Metadata", MetadataResponse(brokers=brokers))
    with cluster.client() as client:
        reached = client.reach_all()

    assert list(reached) == [1, 2, 3]
    assert reached[1] is reached[3] is None
    error = reached[2]
    assert error is not None
    assert (error.address, error.layer) == (f"127.0.0.1:{port}", Layer.TCP)


def test_an_advertised_address_that_drops_packets_is_told_in_time(
    cluster: ScriptedCluster,
) -> None:
    """It need not wait for the setup timeout."""
    with full_server() as port:
        member = MetadataResponseBroker(node_id=9, host="127.0.0.1", port=port)
        cluster.on("Metadata", MetadataResponse(brokers=[member]))
        with cluster.client() as client:
            error = client.reach_all(timeout_ns=50 * MS)[9]

    assert error is not None
    assert error.layer is Layer.TCP
    assert "packets are dropped" in error.why


def test_a_broker_that_does_not_answer_in_time_fails_alone(
    client: ClusterClient, cluster: ScriptedCluster
) -> None:
    """The answers of the others are not lost."""
    cluster.brokers[2].on("FindCoordinator", HOLD)
    answers = client.ask_all(
        dict.fromkeys((1, 2, 3), QUESTION), FindCoordinatorResponse, timeout_ns=100 * MS
    )

    assert (told(answers[1]), told(answers[3])) == (1, 3)
    assert isinstance(answers[2].error, RequestTimeoutError | ConnectError)
    assert answers[2].body is None


def test_nothing_outlasts_the_deadline(client: ClusterClient, cluster: ScriptedCluster) -> None:
    """Whatever a call allows; once it is over nothing is waited for."""
    cluster.on("FindCoordinator", HOLD)
    for left_ns in (50 * MS, 0, -50 * MS):
        client.deadline_ns = client.clock.monotonic_ns() + left_ns
        with pytest.raises((RequestTimeoutError, ConnectError)):
            client.ask(1, QUESTION, FindCoordinatorResponse, timeout_ns=3_600_000 * MS)


def test_any_broker_may_be_asked(client: ClusterClient, cluster: ScriptedCluster) -> None:
    """The connection that is there already is used."""
    assert client.ask_any(QUESTION, FindCoordinatorResponse).throttle_time_ms in (1, 2, 3)
    assert sum(each.connections for each in cluster.brokers.values()) <= 3


def test_when_any_will_do_the_next_is_asked_if_one_fails(
    client: ClusterClient, cluster: ScriptedCluster
) -> None:
    """Until somebody answers; if nobody does, with the reason of the last."""
    for number in (1, 2):
        cluster.brokers[number].stop()
    assert client.ask_any(QUESTION, FindCoordinatorResponse).throttle_time_ms == 3
    cluster.brokers[3].stop()
    with pytest.raises(ConnectError):
        client.ask_any(QUESTION, FindCoordinatorResponse)


@pytest.mark.thorough
def test_a_question_that_changes_nothing_is_asked_again_of_a_broker_that_answers(
    client: ClusterClient, cluster: ScriptedCluster
) -> None:
    """In the same time; what changes something is sent once, for it may have been done."""
    for number in (1, 2):
        cluster.brokers[number].on("FindCoordinator", HOLD)
    answer = client.ask_any(
        QUESTION, FindCoordinatorResponse, timeout_ns=800 * MS, is_harmless=True
    )
    assert answer.throttle_time_ms == 3
    cluster.on("FindCoordinator", HOLD)
    asked = len([each for one in cluster.brokers.values() for each in one.asked("FindCoordinator")])
    with pytest.raises((RequestTimeoutError, ConnectError)):
        client.ask_any(QUESTION, FindCoordinatorResponse, timeout_ns=50 * MS)
    received = [each for one in cluster.brokers.values() for each in one.asked("FindCoordinator")]
    assert len(received) == asked + 1


def test_any_node_is_one_that_is_connected(client: ClusterClient, cluster: ScriptedCluster) -> None:
    """It is the bootstrap server that answered; nobody has to be connected to for it."""
    node = client.node(client.any_node())
    assert int(node.id) < 0
    assert node.port in {broker.port for broker in cluster.brokers.values()}
    assert client.api_versions(int(node.id)) is not None


def test_a_request_that_needs_no_answer_ends_without_one(
    client: ClusterClient, cluster: ScriptedCluster
) -> None:
    """Produce with acks=0 is neither answered nor wrong; its correlation id tells it apart."""
    (answer,) = client.ask_each([(1, ProduceRequest(acks=0))], ProduceResponse)
    assert (answer.body, answer.error) == (None, None)
    assert answer.correlation_id == cluster.brokers[1].wait_for("Produce").header.correlation_id


def test_topics_are_asked_about(client: ClusterClient, cluster: ScriptedCluster) -> None:
    """The snapshot is replaced."""
    cluster.topics.append(MetadataResponseTopic(name="orders"))

    assert client.refresh(["orders"]).topics["orders"].name == "orders"
    assert "orders" in client.cluster.topics
    assert [each.id for each in client.brokers] == [1, 2, 3]
    assert client.refresh().topics == {}


def test_a_version_can_be_asked_for(client: ClusterClient, cluster: ScriptedCluster) -> None:
    """Each broker answers in the newest that both know otherwise."""
    assert client.ask_all({1: QUESTION}, FindCoordinatorResponse, version=4)[1].version == 4
    cluster.brokers[2].on("ApiVersions", offering(FindCoordinator=(0, 3)))
    answers = client.ask_all({2: QUESTION, 3: QUESTION}, FindCoordinatorResponse)
    assert isinstance(answers[2].error, EncodeError)
    assert answers[3].version == 6
    with pytest.raises(UnsupportedVersionError):
        client.ask(2, QUESTION, FindCoordinatorResponse, version=6)


def test_a_message_may_be_built_for_each_broker(
    client: ClusterClient, cluster: ScriptedCluster
) -> None:
    """Brokers of different versions are asked the same in their own way."""

    def build(version: int) -> Struct:
        if version < 4:
            return FindCoordinatorRequest(key="orders")
        return QUESTION

    cluster.brokers[2].on("ApiVersions", offering(FindCoordinator=(0, 3)))
    builder = RequestBuilder(API_BY_KEY[10], Versions(0, 6), build)
    answers = client.ask_all(dict.fromkeys((1, 2), builder), FindCoordinatorResponse)

    assert [answers[number].version for number in (1, 2)] == [6, 3]
    asked = cluster.brokers[2].wait_for("FindCoordinator").message()
    assert asked == FindCoordinatorRequest(key="orders")


def test_an_answer_that_cannot_be_read_is_told(
    client: ClusterClient, cluster: ScriptedCluster
) -> None:
    """As the fault of that broker."""
    cluster.brokers[1].on(
        "FindCoordinator",
        lambda received: received.reply_frame(received.header.correlation_id.to_bytes(4) + b"\0\1"),
    )
    with pytest.raises(DecodeError):
        client.ask(1, QUESTION, FindCoordinatorResponse)


def test_a_request_may_be_sent_without_waiting(client: ClusterClient) -> None:
    """The future is done when somebody has polled."""
    future = client.send(2, QUESTION)
    assert not future.is_done
    client.client.await_future(future)

    assert future.value().body == FindCoordinatorResponse(throttle_time_ms=2)


def test_a_broker_that_has_left_is_asked_where_it_was(
    client: ClusterClient, cluster: ScriptedCluster
) -> None:
    """Between two questions it may go, or be fenced; its answer tells, or that there is none."""
    client.refresh()
    left = cluster.brokers.pop(2)
    assert list(client.refresh().brokers) == [1, 3]
    left.on("ListGroups", ListGroupsResponse(throttle_time_ms=2))
    assert client.ask(2, ListGroupsRequest(), ListGroupsResponse).throttle_time_ms == 2
    left.stop()
    with pytest.raises(ConnectError):
        client.ask(2, ListGroupsRequest(), ListGroupsResponse)


def test_an_unknown_broker_is_the_callers_mistake(client: ClusterClient) -> None:
    """The bootstrap server has a number below zero."""
    with pytest.raises(ValueError, match="the cluster has no broker 4"):
        client.send(4, QUESTION)
    assert client.ask(-1, QUESTION, FindCoordinatorResponse).throttle_time_ms in (1, 2, 3)


def test_before_it_is_connected_a_client_knows_no_broker() -> None:
    """Only the servers that it was given."""
    clock = ManualClock()
    settings = ClusterSettings([("127.0.0.1", closed_port())])
    with ClusterClient(settings, plaintext(clock), clock) as client:
        assert client.brokers == []
        assert client.cluster.is_bootstrap
        with pytest.raises(ConnectError, match="connection refused"):
            client.connect()
        assert client.brokers == []


def test_a_wait_lasts_as_long_as_it_is_told(client: ClusterClient) -> None:
    """The clock of the client says when it is over."""
    before_ns = client.clock.monotonic_ns()

    client.wait(20 * MS)

    assert client.clock.monotonic_ns() - before_ns >= 20 * MS


def test_when_no_broker_can_be_reached_the_servers_are_looked_up_again(
    cluster: ScriptedCluster,
) -> None:
    """KIP-899: the brokers are elsewhere by now, behind the name that was given."""
    ips = ["127.0.0.1"]
    lines: list[str] = []

    def lookup(host: str, port: int) -> list[Address]:
        return [
            Address(host, port, ip, socket.AF_INET)
            for ip in (ips if host == "kafka.example" else [host])
        ]

    with ScriptedBroker("127.0.0.2", port=cluster.brokers[1].port) as moved:
        member = MetadataResponseBroker(node_id=1, host="127.0.0.2", port=moved.port)
        moved.on("Metadata", MetadataResponse(brokers=[member]))
        moved.on("FindCoordinator", FindCoordinatorResponse(throttle_time_ms=9))
        clock = SystemClock()
        network = NetworkSettings(times=IMPATIENT, lookup=lookup)
        settings = ClusterSettings([("kafka.example", moved.port)], network)
        with ClusterClient(settings, plaintext(clock), clock) as client:
            client.connect()
            client.updater.rebootstrapping.report = lines.append
            before = [each.port for each in client.brokers]
            for broker in cluster.brokers.values():
                broker.stop()
            ips[:] = ["127.0.0.2"]
            assert client.ask_any(QUESTION, FindCoordinatorResponse).throttle_time_ms == 9
            assert client.refresh().brokers == {1: Broker(1, "127.0.0.2", moved.port)}
    named = ", ".join(sorted(f"127.0.0.1:{port}" for port in before))
    place = f"the bootstrap servers name the broker at 127.0.0.2:{moved.port}"
    assert lines == [f"{place} in place of {named}"]


@pytest.mark.thorough
def test_the_servers_that_were_not_needed_at_first_are_asked_when_no_broker_answers(
    cluster: ScriptedCluster,
) -> None:
    """The brokers that are known hang; of the servers that the user named one alone answers."""
    member = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=cluster.brokers[1].port)
    cluster.on("Metadata", MetadataResponse(brokers=[member]))
    cluster.brokers[2].stop()
    cluster.brokers[3].on("ApiVersions", CLOSE)
    with cluster.client() as client:
        cluster.brokers[1].on("Metadata", HOLD)
        with pytest.raises(RequestTimeoutError):
            client.refresh(timeout_ns=20 * MS)
        cluster.brokers[3].on("ApiVersions", offering())
        assert list(client.refresh(timeout_ns=1_600 * MS).brokers) == [1]


def test_metadata_of_another_cluster_are_not_used(cluster: ScriptedCluster) -> None:
    """Offsets and commits would be those of other records; the servers are asked once more."""
    member = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=cluster.brokers[1].port)
    cluster.on("Metadata", MetadataResponse(brokers=[member], cluster_id="A"))
    with cluster.client() as client:
        cluster.on("Metadata", MetadataResponse(brokers=[member], cluster_id="B"))
        for _ in range(2):
            with pytest.raises(ConnectError, match="another cluster answers: its id is B, not A"):
                client.refresh()
        assert client.cluster.cluster_id == "A"
        cluster.brokers[2].on("Metadata", MetadataResponse(brokers=[member], cluster_id="A"))
        client.updater.rebootstrapping._next_ns = 0
        cluster.brokers[1].stop()
        cluster.brokers[3].stop()
        assert client.refresh().cluster_id == "A"
