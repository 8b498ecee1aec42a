"""What a tail reads equals what librdkafka reads, record for record, on real brokers."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from client_ends.judge_consumer import JudgedRecord, judged
from kdiag.client.config.load import ConfigSources, load_config
from kdiag.client.configured_client import configured_client
from kdiag.client.fetch.session import FetchLimits
from kdiag.clock import SystemClock
from kdiag.probe.tail.follower import Tail
from kdiag.probe.tail.offset_spec import parse_offsets
from kdiag.probe.tail.placement import TailRequest
from kdiag.probe.tail.topic_selection import parse_selector
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch
from real_kafka import topic_maker
from real_kafka.kafka_cluster import KafkaCluster, free_ports
from real_kafka.releases import OLDEST, USUAL

pytestmark = pytest.mark.soak
CLOCK = SystemClock()
S_NS = 1_000_000_000
CLEANS_OFTEN = {
    "log.cleaner.backoff.ms": "200",
    "log.retention.check.interval.ms": "500",
    "message.max.bytes": "20000000",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
}


@pytest.fixture(scope="module", params=[USUAL, OLDEST])
def cluster(
    request: pytest.FixtureRequest,
    get_kafka_jars: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[KafkaCluster]:
    """One node that compacts at once."""
    get_kafka_jars(request.param)
    folder = tmp_path_factory.mktemp("tail")
    with KafkaCluster(
        request.param, folder, ports=free_ports(1), properties=CLEANS_OFTEN
    ) as cluster:
        yield cluster


def read(
    bootstrap: str, topic: str, *offsets: str, isolation: str = "read_committed"
) -> list[JudgedRecord]:
    """Return what a tail that stops at the end reads, by partition and offset."""
    return sorted(in_order(bootstrap, topic, *offsets, isolation=isolation), key=lambda r: r[:2])


def in_order(
    bootstrap: str, topic: str, *offsets: str, isolation: str = "read_committed"
) -> list[JudgedRecord]:
    """Return the same in the order in which it comes."""
    config = load_config(ConfigSources(properties=[f"bootstrap.servers={bootstrap}"]))
    with configured_client(config, CLOCK) as client:
        client.connect()
        request = TailRequest(
            [parse_selector(topic)],
            parse_offsets(offsets, CLOCK.epoch_ns() // 1_000_000),
            stops_at_end=True,
            limits=FetchLimits(is_committed_only=isolation == "read_committed"),
        )
        tail = Tail(client, request)
        found = []
        while not tail.is_done:
            for fetched in tail.poll(CLOCK.monotonic_ns() + S_NS):
                assert fetched.batch.crc_ok
                if fetched.is_aborted or fetched.batch.is_control:
                    continue
                found += [
                    JudgedRecord(
                        fetched.key.partition,
                        each.offset,
                        each.timestamp,
                        each.key,
                        each.value,
                        tuple((name.decode(), value) for name, value in each.headers),
                    )
                    for each in fetched.batch.records()
                    if fetched.start <= each.offset < fetched.stop
                ]
    return found


@pytest.mark.real
def test_transactions_are_read_as_their_isolation_wants(cluster: KafkaCluster) -> None:
    """Committed, aborted in the middle and at the end, and one that is still open."""
    topic_maker.create(cluster.bootstrap, "txn")
    topic_maker.transact(
        cluster.bootstrap, "txn", "a", [(5, True), (7, False), (3, True), (4, False)]
    )
    topic_maker.transact(cluster.bootstrap, "txn", "b", [(2, False), (6, True), (1, False)])
    committed = read(cluster.bootstrap, "txn")
    assert committed == judged(cluster.bootstrap, "txn")
    assert len(committed) == 14
    everything = read(cluster.bootstrap, "txn", isolation="read_uncommitted")
    assert everything == judged(cluster.bootstrap, "txn", "read_uncommitted")
    assert len(everything) == 28
    assert in_order(cluster.bootstrap, "txn", "-3") == committed[-3:]
    still_open = topic_maker.open_transaction(cluster.bootstrap, "txn", "c", 3)
    topic_maker.produce(cluster.bootstrap, "txn", [(None, b"behind the open one")])
    assert read(cluster.bootstrap, "txn") == committed
    assert len(read(cluster.bootstrap, "txn", isolation="read_uncommitted")) == 32
    still_open.abort_transaction(60)
    assert len(read(cluster.bootstrap, "txn")) == 15


@pytest.mark.real
def test_compaction_gaps_and_tombstones_are_read_over(cluster: KafkaCluster) -> None:
    """What is left is read; where nothing is left before the end, the end is found."""
    config = {
        "cleanup.policy": "compact",
        "segment.bytes": "20000" if cluster_is_old(cluster) else "1048576",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
        "max.compaction.lag.ms": "200",
    }
    topic_maker.create(cluster.bootstrap, "compact", 2, config=config)
    for each in range(30):
        records = [(b"k%d" % n, b"%d" % each) for n in range(50)]
        topic_maker.produce(cluster.bootstrap, "compact", records)
    topic_maker.produce(cluster.bootstrap, "compact", [(b"k1", None), (b"k2", None)])
    left = judged(cluster.bootstrap, "compact")
    while len(left) > 1000:  # until the cleaner has been here
        topic_maker.produce(cluster.bootstrap, "compact", [(b"rolls the segment", b"")])
        left = judged(cluster.bootstrap, "compact")
    topic_maker.produce(cluster.bootstrap, "compact", [(b"last", b"one")])
    assert read(cluster.bootstrap, "compact")[-1] == judged(cluster.bootstrap, "compact")[-1]
    newest = in_order(cluster.bootstrap, "compact", "-1")
    assert newest[0].value == b"one"


def cluster_is_old(cluster: KafkaCluster) -> bool:
    """Return whether segments may be smaller than a megabyte."""
    return cluster.version.startswith("3.")


@pytest.mark.real
def test_each_codec_is_read(cluster: KafkaCluster) -> None:
    """Batches of one topic may have different ones."""
    topic_maker.create(cluster.bootstrap, "codecs", 3)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        pairs = [(b"%d" % n, f"{codec} {n} ".encode() * 20) for n in range(500)]
        topic_maker.produce(cluster.bootstrap, "codecs", pairs, compression_type=codec)
    records = read(cluster.bootstrap, "codecs")
    assert records == judged(cluster.bootstrap, "codecs")
    assert len(records) == 2500


def test_an_empty_topic_and_one_of_a_hundred_partitions_end_at_once(cluster: KafkaCluster) -> None:
    """Nothing is waited for."""
    topic_maker.create(cluster.bootstrap, "empty", 3)
    assert read(cluster.bootstrap, "empty") == []
    assert read(cluster.bootstrap, "empty", "-5") == []
    topic_maker.create(cluster.bootstrap, "hundred", 100)
    topic_maker.produce(
        cluster.bootstrap, "hundred", [(b"%d" % n, b"v%d" % n) for n in range(5000)]
    )
    records = read(cluster.bootstrap, "hundred")
    assert records == judged(cluster.bootstrap, "hundred")
    assert len({each.partition for each in records}) == 100


def test_records_of_ten_megabytes_and_headers_and_binary_keys_are_read(
    cluster: KafkaCluster,
) -> None:
    """They are larger than what is asked for at a time."""
    topic_maker.create(cluster.bootstrap, "large", 2, config={"max.message.bytes": "20000000"})
    sender = topic_maker.producer(cluster.bootstrap, message_max_bytes=20_000_000)
    large = [(b"\0\xff%d" % n, os.urandom(10_000_000)) for n in range(3)]
    topic_maker.send(sender, "large", large, headers=[("a", b"\xfe"), ("a", None), ("", b"")])
    topic_maker.finish(sender)
    assert read(cluster.bootstrap, "large") == judged(cluster.bootstrap, "large")


def test_a_segment_of_magic_1_is_read(cluster: KafkaCluster) -> None:
    """It was written by a broker before 0.11 and lies there since."""
    topic_maker.create(cluster.bootstrap, "old")
    topic_maker.produce(cluster.bootstrap, "old", [(None, b"makes the broker make the folder")])
    cluster.kill(1)
    folder = next(cluster.folder.glob("data-1/old-0"))
    for file in folder.glob("*.*index"):
        file.unlink()
    header = BatchHeader(magic=1, compression="gzip")
    now_ms = CLOCK.epoch_ns() // 1_000_000  # what is older is deleted by retention
    plain = [Record(n, now_ms + n, b"k%d" % n, b"v%d" % n) for n in range(3)]
    packed = [Record(n, now_ms + n, None, b"v%d" % n) for n in range(3, 9)]
    segment = write_batch(plain, BatchHeader(magic=1)) + write_batch(packed, header)
    (folder / "00000000000000000000.log").write_bytes(segment)
    cluster.restart(1)
    records = read(cluster.bootstrap, "old")
    assert [each.value for each in records] == [b"v%d" % n for n in range(9)]
    assert records == judged(cluster.bootstrap, "old")
