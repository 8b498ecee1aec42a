"""The client on real clusters of three brokers: every broker is asked, one is killed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from client_ends.client_peers import plaintext
from kdiag.client.cluster_client import Answer, ClusterClient, ClusterSettings
from kdiag.client.consumer_network_client import ResponseFuture
from kdiag.client.network.observer import ExchangeObserver, OnExchange
from kdiag.clock import SystemClock
from kdiag.errors import ConnectError, Fault
from kdiag.exchange.model import Exchange, Status
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from kdiag.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import Versions
from real_kafka.kafka_cluster import KafkaCluster, free_ports

pytestmark = pytest.mark.soak
S = 1_000_000_000
BROKERS = (1, 2, 3)
TOPIC = "orders"
NOT_READY = {"NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION"}


@pytest.fixture(scope="module", params=("4.3.1",))
def running(
    request: pytest.FixtureRequest,
    get_kafka_jars: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[KafkaCluster]:
    """Yield three running brokers, with a user for the SASL listener."""
    get_kafka_jars(request.param)
    folder = tmp_path_factory.mktemp("kafka")
    users = {"admin": "secret"}
    with KafkaCluster(request.param, folder, ports=free_ports(3), users=users) as started:
        yield started


@pytest.fixture
def cluster(running: KafkaCluster) -> KafkaCluster:
    """Return the brokers once each knows of all, as after one was started again."""
    with client_of(running.bootstrap) as client:
        while set(client.cluster.brokers) != set(BROKERS):
            client.refresh()
        while any(known_to(answer) != set(BROKERS) for answer in metadata_of_all(client).values()):
            pass
    return running


def metadata_of_all(client: ClusterClient) -> dict[int, Answer[MetadataResponse]]:
    """Return what each broker says of the cluster."""
    return client.ask_all(dict.fromkeys(BROKERS, MetadataRequest(topics=[])), MetadataResponse)


def known_to(answer: Answer[MetadataResponse]) -> set[int]:
    """Return the brokers that a broker knows of."""
    return {each.node_id for each in answer.body.brokers} if answer.body else set()


@contextmanager
def client_of(bootstrap: str, on_exchange: OnExchange | None = None) -> Iterator[ClusterClient]:
    """Yield a client that has two minutes, connected."""
    clock = SystemClock()
    servers = [(host, int(port)) for host, port in (e.split(":") for e in bootstrap.split(","))]
    observer = ExchangeObserver(on_exchange, "kdiag") if on_exchange else None
    settings = ClusterSettings(servers)
    with ClusterClient(settings, plaintext(clock), clock, observer) as client:
        client.deadline_ns = clock.monotonic_ns() + 120 * S
        client.connect()
        yield client


def test_every_broker_tells_the_same_metadata(cluster: KafkaCluster) -> None:
    """Each of the three, and they advertise what they listen on."""
    with client_of(cluster.bootstrap) as client:
        assert [each.id for each in client.brokers] == list(BROKERS)
        assert [each.port for each in client.brokers] == [p.plaintext for p in cluster.ports]
        assert client.reach_all() == dict.fromkeys(BROKERS)
        answers = metadata_of_all(client)

    assert {number: known_to(answer) for number, answer in answers.items()} == {
        number: set(BROKERS) for number in BROKERS
    }
    assert len({answer.body.cluster_id for answer in answers.values() if answer.body}) == 1


def test_every_broker_tells_its_versions(cluster: KafkaCluster) -> None:
    """What it answers is what the client has learnt when it connected."""
    with client_of(cluster.bootstrap) as client:
        answers = client.ask_all(
            dict.fromkeys(BROKERS, ApiVersionsRequest(client_software_name="kdiag")),
            ApiVersionsResponse,
            version=0,
        )
        for number, answer in answers.items():
            assert answer.body is not None
            known = client.api_versions(number)
            assert known is not None
            for each in answer.body.api_keys:
                offered = Versions(each.min_version, each.max_version)
                assert known.range(API_BY_KEY[each.api_key]) == offered


@pytest.mark.real
def test_every_broker_finds_the_same_coordinator(cluster: KafkaCluster) -> None:
    """Also of a group that does not exist, as soon as the internal topic does."""
    question = FindCoordinatorRequest(coordinator_keys=["no-such-group"])
    found: set[tuple[str, int]] = set()
    with client_of(cluster.bootstrap) as client:
        while True:
            answers = client.ask_all(dict.fromkeys(BROKERS, question), FindCoordinatorResponse)
            bodies = [answer.body for answer in answers.values() if answer.body is not None]
            assert len(bodies) == len(BROKERS)
            found = {(error_name(e.error_code), e.node_id) for b in bodies for e in b.coordinators}
            if "COORDINATOR_NOT_AVAILABLE" not in {name for name, _ in found}:
                break

    assert len(found) == 1
    assert found <= {("NONE", number) for number in BROKERS}


def test_everything_that_crosses_the_wire_is_observed(cluster: KafkaCluster) -> None:
    """Each exchange with both frames; ApiVersions is the first on each connection."""
    seen: list[Exchange] = []
    with client_of(cluster.bootstrap, seen.append) as client:
        client.ask(2, MetadataRequest(topics=[]), MetadataResponse)

    whole = [each for each in seen if each.pairing is Status.OK]
    assert {each.api_key for each in whole} == {3, 18}
    for exchange in whole:
        assert exchange.latency_ns is not None
        assert exchange.latency_ns > 0
    by_connection = {each.connection.number: each.api_key for each in reversed(whole)}
    assert set(by_connection.values()) == {18}


def test_a_listener_that_wants_sasl_is_recognised(cluster: KafkaCluster) -> None:
    """It answers ApiVersions, and hangs up on the next request."""
    with pytest.raises(ConnectError) as raised, client_of(cluster.sasl_bootstrap):
        pass

    assert raised.value.fault is Fault.WANTS_SASL


def create_topic(client: ClusterClient) -> None:
    """Create a topic with a partition on each broker."""
    topic = CreatableTopic(name=TOPIC, num_partitions=len(BROKERS), replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=30_000)
    created = client.ask_any(request, CreateTopicsResponse).topics[0].error_code
    assert error_name(created) in ("NONE", "TOPIC_ALREADY_EXISTS")


def leaders(client: ClusterClient) -> dict[int, int]:
    """Return a partition for each broker that leads it, once all know of the topic."""
    while True:
        topic = client.refresh([TOPIC]).topics[TOPIC]
        found = {each.leader_id: each.partition_index for each in topic.partitions}
        if set(found) == set(BROKERS):
            return found


def fetch(partition: int, max_wait_ms: int) -> FetchRequest:
    """Return a request that a broker answers only then, as there are no records."""
    wanted = FetchPartition(partition=partition, partition_max_bytes=1_000)
    topic = FetchTopic(topic=TOPIC, partitions=[wanted])
    return FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, topics=[topic])


def hold(client: ClusterClient, number: int, partition: int) -> ResponseFuture:
    """Return the future of a fetch that a broker holds for a minute, once it knows it leads."""
    error = ""
    while error != "NONE":
        body = client.ask(number, fetch(partition, 0), FetchResponse, version=12)
        error = error_name(body.responses[0].partitions[0].error_code)
        assert error in {"NONE", *NOT_READY}
    return client.send(number, fetch(partition, 60_000), version=12)


def test_a_broker_that_is_killed_fails_what_is_in_flight_to_it_alone(
    cluster: KafkaCluster,
) -> None:
    """The requests to the others stay in flight; a new client reaches the others."""
    with client_of(cluster.bootstrap) as client:
        create_topic(client)
        partitions = leaders(client)
        held = {number: hold(client, number, partitions[number]) for number in BROKERS}
        cluster.kill(2)
        try:
            client.client.await_future(held[2], client.clock.monotonic_ns() + 30 * S)
            error = client.connection_error(2)
            assert held[2].failed
            assert error is not None
            assert "closed the connection" in error.why or "reset the connection" in error.why
            assert not held[1].is_done
            assert not held[3].is_done
            with client_of(cluster.bootstrap) as other:
                questions = dict.fromkeys(BROKERS, ApiVersionsRequest(client_software_name="x"))
                answers = other.ask_all(questions, ApiVersionsResponse, version=0)
            refused = answers[2].error
            assert isinstance(refused, ConnectError)
            assert refused.fault is Fault.REFUSED
            assert [number for number in BROKERS if answers[number].error is None] == [1, 3]
        finally:
            cluster.restart(2)
