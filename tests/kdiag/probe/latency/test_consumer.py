from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import PartitionKey
from kdiag.diagnosis.latency.split import LatencySplit, OneWay
from kdiag.probe.latency.commit import Committing, ProbeGroup
from kdiag.probe.latency.consumer import LatencyConsumer
from kdiag.probe.latency.messages import MarkedRecords
from kdiag.probe.latency.plan import LatencyTarget, RecordShape
from kdiag.probe.latency.record_timings import RecordStart, RecordTimings
from kdiag.probe.latency.results import LatencyResults, SeriesKind
from scripted_kafka.writable_cluster import WritableCluster

RECORDS = MarkedRecords(RecordShape())


class Reader:
    """A consumer of one partition, and what arrives.

    Attributes:
        arrived: the timings that have ended.
        results: what went wrong.
    """

    def __init__(self, cluster: WritableCluster, client: ClusterClient, *, commits: bool) -> None:
        self.arrived: list[tuple[RecordStart, LatencySplit]] = []
        self.results = LatencyResults()
        self.timings = RecordTimings(lambda start, split: self.arrived.append((start, split)))
        self._client = client
        self._log = cluster.logs[PartitionKey("orders", 0)]
        self._cluster = cluster
        target = LatencyTarget("orders", self._log.topic_id, {0: 1})
        self.consumer = LatencyConsumer(client, target, {0: 0}, self.results)
        group = ProbeGroup("group", 1)
        committing = Committing(client, target, group, self.results) if commits else None
        self.consumer.follow(RECORDS, self.timings, committing)

    def write(self, number: int) -> None:
        """Have a record on its way, and then in the log."""
        now_ns = self._client.clock.epoch_ns()
        self.timings.begin(number, RecordStart(now_ns, 1, 1))
        self.timings.add_write(number, OneWay(now_ns, 0))
        self._cluster._append(self._log, RECORDS.batch(number, now_ns))

    def read(self, count: int) -> None:
        """Wait until so many have arrived."""
        self.consumer.keep_fetching()
        self._client.client.await_condition(lambda: len(self.arrived) == count)


@pytest.fixture
def cluster() -> Iterator[WritableCluster]:
    """Return a broker with a topic."""
    with WritableCluster(1) as cluster:
        cluster.add("orders", 0)
        yield cluster


def test_records_arrive_one_fetch_after_the_other(cluster: WritableCluster) -> None:
    """Each fetch goes on where the last one ended, and is sent by itself."""
    with cluster.client() as client:
        reader = Reader(cluster, client, commits=False)
        for number in range(3):
            reader.write(number)
            reader.read(number + 1)
    fetches = cluster.brokers[1].asked("Fetch")
    assert len(fetches) in {3, 4}
    assert [start.acks for start, _ in reader.arrived] == [1, 1, 1]
    assert min(split.total_ns for _, split in reader.arrived) > 0
    assert reader.results.problems == {}


def test_what_is_read_is_committed(cluster: WritableCluster) -> None:
    """The offset behind the last record, and its timing ends with that."""
    with cluster.client() as client:
        reader = Reader(cluster, client, commits=True)
        reader.write(1)
        reader.write(2)
        reader.read(2)
        committed = reader.results.of(SeriesKind.COMMITTED, 1).latencies
        client.client.await_condition(lambda: committed.count > 0)
    assert cluster.committed[-1] == 2


def test_a_fetch_that_fails_is_sent_again_after_a_while(cluster: WritableCluster) -> None:
    """Not at once: what is wrong may stay so."""
    log = cluster.logs[PartitionKey("orders", 0)]
    log.error = "NOT_LEADER_OR_FOLLOWER"
    with cluster.client() as client:
        reader = Reader(cluster, client, commits=False)
        cluster._append(log, RECORDS.batch(9, 0))  # of nobody, so that the fetch returns at once
        reader.consumer.keep_fetching()
        client.client.await_condition(lambda: reader.results.has_errors)
        reader.consumer.keep_fetching()
        assert reader.consumer.connections[0].pending == 0
        log.error = "NONE"
        reader.write(1)
        until_ns = client.clock.monotonic_ns() + 5_000_000_000
        while not reader.arrived and client.clock.monotonic_ns() < until_ns:
            reader.consumer.keep_fetching()
            client.client.poll(client.clock.monotonic_ns() + 10_000_000)
    assert list(reader.results.problems) == ["NOT_LEADER_OR_FOLLOWER"]
    assert len(reader.arrived) == 1


def test_bytes_that_are_no_records_are_told(cluster: WritableCluster) -> None:
    """They are skipped by nobody: the fetch is sent again."""
    log = cluster.logs[PartitionKey("orders", 0)]
    log.batches.append((0, 1, bytes(16) + b"\x09" + bytes(80)))
    with cluster.client() as client:
        reader = Reader(cluster, client, commits=False)
        reader.consumer.keep_fetching()
        client.client.await_condition(lambda: reader.results.has_errors)
    assert "is not a magic" in next(iter(reader.results.problems))


def test_a_consumer_that_has_ended_fetches_no_more(cluster: WritableCluster) -> None:
    """What waits may come back, and nobody is told."""
    with cluster.client() as client:
        reader = Reader(cluster, client, commits=False)
        reader.consumer.keep_fetching()
        reader.consumer.end()
        reader.write(1)
        (connection,) = reader.consumer.connections
        client.client.await_condition(lambda: not connection.pending)
    assert reader.arrived == []
    assert len(cluster.brokers[1].asked("Fetch")) == 1
