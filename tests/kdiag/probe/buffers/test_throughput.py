from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.diagnosis.buffers.facts import LoadDirection, LoadKind
from kdiag.errors import ConnectError, KdiagError, ProbeError
from kdiag.probe.buffers.load import Target
from kdiag.probe.buffers.throughput import RunSettings, measure
from kdiag.wire.schema import ZERO_UUID
from scripted_kafka.loaded_cluster import LoadedCluster
from scripted_kafka.scripted_broker import CLOSE

MS = 1_000_000
BATCH = bytes(64 << 10)
TARGET = Target(1, "load", ZERO_UUID, 0, {1: 0})
SETTINGS = RunSettings(
    direction=LoadDirection.PRODUCE,
    load=LoadKind.FULL,
    size_bytes=-1,
    turn_bytes=64 << 10,
    in_flight=3,
    rtt_ns=MS,
    time_ns=100 * MS,
    max_bytes=1 << 30,
)


@pytest.fixture
def cluster() -> Iterator[LoadedCluster]:
    """Yield a broker."""
    with LoadedCluster() as brokers:
        yield brokers


@pytest.mark.thorough
@pytest.mark.parametrize("direction", list(LoadDirection))
def test_records_go_as_fast_as_they_can(client: ClusterClient, direction: LoadDirection) -> None:
    """What is counted is what arrived while it was measured, without the warm-up."""
    run = measure(client, TARGET, SETTINGS._replace(direction=direction), BATCH)

    assert run.direction is direction
    assert 100 * MS <= run.time_ns < 1_000 * MS
    assert 0 < run.moved_bytes < run.total_bytes
    assert run.mb_per_s == pytest.approx(run.moved_bytes * 1_000 / run.time_ns)
    assert run.facts.rtt_ns is not None
    assert run.load_bytes == 3 * (64 << 10)


def test_a_run_moves_no_more_than_it_may(client: ClusterClient) -> None:
    """However long it was to take; a third of it is for the warm-up."""
    patient = SETTINGS._replace(time_ns=60_000 * MS, rtt_ns=5_000 * MS, max_bytes=3 << 20)
    run = measure(client, TARGET, patient, BATCH)

    assert 3 << 20 <= run.total_bytes < 8 << 20
    assert run.moved_bytes <= run.total_bytes - (1 << 20)
    assert run.time_ns < 10_000 * MS


def test_so_many_requests_are_in_flight(client: ClusterClient, cluster: LoadedCluster) -> None:
    """Never more: the broker holds the first and gets no other than those."""
    waiting = measure_while_held(client, cluster)
    assert len(waiting) == 3


def measure_while_held(client: ClusterClient, cluster: LoadedCluster) -> list[object]:
    """Return the requests that come while none is answered."""
    waiting: list[object] = []
    cluster.on("Produce", waiting.append)
    measure(client, TARGET, SETTINGS, BATCH)
    return waiting


def test_a_quota_is_told(client: ClusterClient, cluster: LoadedCluster) -> None:
    """The broker says for how long it leaves the connection alone."""
    cluster.throttle_time_ms = 20
    run = measure(client, TARGET, SETTINGS, BATCH)
    assert run.throttled_ns >= 20 * MS


def test_a_broker_that_refuses_ends_the_run(client: ClusterClient, cluster: LoadedCluster) -> None:
    """With Kafka's own name for it."""
    cluster.errors["Produce"] = "MESSAGE_TOO_LARGE"
    with pytest.raises(ProbeError, match="MESSAGE_TOO_LARGE"):
        measure(client, TARGET, SETTINGS, BATCH)


def test_nothing_to_fetch_ends_the_run(client: ClusterClient, cluster: LoadedCluster) -> None:
    """Or it would measure how fast nothing is told."""
    cluster.is_empty = True
    with pytest.raises(ProbeError, match="no records to be fetched"):
        measure(client, TARGET, SETTINGS._replace(direction=LoadDirection.FETCH), BATCH)


@pytest.mark.parametrize("direction", list(LoadDirection))
def test_a_connection_that_breaks_ends_the_run(
    client: ClusterClient, cluster: LoadedCluster, direction: LoadDirection
) -> None:
    """It is told why."""
    cluster.on("Produce", CLOSE)
    cluster.on("Fetch", CLOSE)
    with pytest.raises(KdiagError) as caught:
        measure(client, TARGET, SETTINGS._replace(direction=direction), BATCH)
    assert isinstance(caught.value, ConnectError)
