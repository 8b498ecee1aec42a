"""Each error code that keeps a tail from reading is reported by its name."""

from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch import recovery
from kdiag.client.fetch.position import Notice, PartitionKey
from kdiag.client.fetch.session import FetchLimits
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import AuthorizationError
from kdiag.probe.tail import follower, placement
from kdiag.probe.tail.follower import Tail
from kdiag.probe.tail.placement import TailRequest
from kdiag.probe.tail.topic_selection import parse_selector
from kdiag.wire.api.fetch import FetchResponse
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.log_cluster import Log, LogCluster
from scripted_kafka.scripted_broker import Received
from tiers.cases import for_each

KEY = PartitionKey("orders", 0)
ALL = sorted(name for name, code in CODE_BY_NAME.items() if code)
RANGE, DENIED = "OFFSET_OUT_OF_RANGE", "TOPIC_AUTHORIZATION_FAILED"
SAMPLE = [
    "CORRUPT_MESSAGE",
    "KAFKA_STORAGE_ERROR",
    "NOT_COORDINATOR",
    "NOT_LEADER_OR_FOLLOWER",
    "UNKNOWN_SERVER_ERROR",
    "UNKNOWN_TOPIC_ID",
]


@pytest.fixture(autouse=True)
def _in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lasts is reported at once, and given up soon."""
    monkeypatch.setattr(recovery, "LASTING_NS", 20 * NS_PER_MS)
    monkeypatch.setattr(recovery, "_FIRST_RETRY_NS", NS_PER_MS)
    monkeypatch.setattr(follower, "PATIENCE_NS", 0)
    monkeypatch.setattr(placement, "STRANDED_NS", 100 * NS_PER_MS)


@pytest.fixture
def cluster() -> Iterator[LogCluster]:
    """A broker with one partition of three records."""
    with LogCluster(1) as cluster:
        cluster.add("orders", 0).append(b"a", b"b", b"c")
        yield cluster


@pytest.fixture
def log(cluster: LogCluster) -> Log:
    """Its log."""
    return cluster.logs[KEY]


@pytest.fixture
def client(cluster: LogCluster) -> Iterator[ClusterClient]:
    """A client of the cluster."""
    with cluster.client() as client:
        yield client


def read(client: ClusterClient) -> tuple[list[Notice], bool]:
    """Read to the end; return what was reported, and whether all was read."""
    request = TailRequest(
        [parse_selector("orders")], stops_at_end=True, limits=FetchLimits(max_wait_ms=10)
    )
    tail = Tail(client, request)
    notices = []
    until_ns = client.clock.monotonic_ns() + 20 * NS_PER_S
    while not tail.is_done:
        assert client.clock.monotonic_ns() < until_ns
        tail.poll(client.clock.monotonic_ns() + 20 * NS_PER_MS)
        notices += tail.take_notices()
    return notices + tail.take_notices(), not tail.is_partial


def assert_named(notices: list[Notice], error: str) -> None:
    """Check that an error is named, with its partition, and nothing is said of leaders."""
    texts = [each.text for each in notices]
    assert any(error in text and "orders[0]" in text for text in texts), texts
    untrue = ("no leader that", "who leads", "does not answer")
    assert not any(words in text for text in texts for words in untrue), texts


def check_fetch(client: ClusterClient, log: Log, error: str) -> None:
    """Check what is reported where each Fetch is answered with an error."""
    log.fetch_error = error
    if error == DENIED:
        with pytest.raises(AuthorizationError):
            read(client)
        return
    notices, is_whole = read(client)
    assert_named(notices, error)
    assert not is_whole


@pytest.mark.parametrize("error", SAMPLE)
def test_an_error_in_a_partition_is_named(client: ClusterClient, log: Log, error: str) -> None:
    """And with --exit the reading ends, as partial."""
    check_fetch(client, log, error)


@pytest.mark.soak
def test_every_error_in_a_partition_is_named(client: ClusterClient, log: Log) -> None:
    """One that means a wrong offset is got round by another question, and is not in this table."""
    for error in ALL:
        if error != RANGE:
            check_fetch(client, log, error)


@pytest.mark.parametrize("error", [*SAMPLE[:3], "FETCH_SESSION_ID_NOT_FOUND"])
def test_an_error_of_a_whole_fetch_is_named(
    client: ClusterClient, cluster: LogCluster, error: str
) -> None:
    """An error of the session as well, if it comes again and again."""
    refused = FetchResponse(error_code=CODE_BY_NAME[error])
    cluster.on("Fetch", lambda received: received.reply(refused))
    notices, is_whole = read(client)
    assert_named(notices, error)
    assert not is_whole


@pytest.mark.parametrize("error", [*SAMPLE[:3], *SAMPLE[4:]])
def test_an_error_in_listoffsets_is_named(client: ClusterClient, log: Log, error: str) -> None:
    """Where a log begins and ends is asked before it is read."""
    log.list_error = error
    notices, is_whole = read(client)
    assert_named(notices, error)
    assert not is_whole


def test_an_offset_that_is_there_and_refused_for_long_is_named(
    client: ClusterClient, log: Log
) -> None:
    """Looking it up again leads to the same offset, for ever."""
    log.fetch_error = RANGE
    notices, is_whole = read(client)
    assert_named(notices, RANGE)
    assert not is_whole


def test_an_error_of_a_partition_in_metadata_is_named(client: ClusterClient, log: Log) -> None:
    """Whatever keeps it from having a leader: it is not called a partition without one."""
    log.metadata_error = "UNKNOWN_SERVER_ERROR"
    notices, is_whole = read(client)
    assert_named(notices, "UNKNOWN_SERVER_ERROR")
    assert not is_whole


@for_each("error", ["NOT_LEADER_OR_FOLLOWER", "FETCH_SESSION_ID_NOT_FOUND", "UNKNOWN_LEADER_EPOCH"])
def test_an_error_that_passes_is_not_worth_a_word(error: str) -> None:
    """Leaders move, and brokers forget sessions: the next answer is right."""
    with LogCluster(1) as cluster, cluster.client() as client:
        log = cluster.add("orders", 0)
        log.append(b"a")

        def answer(received: Received) -> None:
            log.fetch_error = error if len(cluster.brokers[1].asked("Fetch")) == 1 else "NONE"
            cluster.answer_fetch(1, received)

        cluster.on("Fetch", answer)
        assert read(client) == ([], True)


@pytest.mark.thorough
def test_an_answer_that_cannot_be_read_is_called_so(
    client: ClusterClient, cluster: LogCluster
) -> None:
    """The broker does answer."""

    def garble(received: Received) -> None:
        received.reply_frame(received.header.correlation_id.to_bytes(4, "big") + bytes(3))

    cluster.on("Fetch", garble)
    notices, is_whole = read(client)
    assert not is_whole
    assert "broker 1 answers what cannot be read: " in notices[0].text
