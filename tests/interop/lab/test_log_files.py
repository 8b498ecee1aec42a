"""Logs of the lab and of Kafka: each reads what the other wrote."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import pytest
from confluent_kafka import Consumer, TopicPartition

from kdiag.clock import SystemClock
from kdiag.lab.log.cleaning.cleaner import LogCleaning, cleanable_part
from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.files.partition_metadata import read_topic_id
from kdiag.lab.log.loader import LogOrigin
from kdiag.lab.log.log_directory import CLEAN_SHUTDOWN, LogDirectory
from kdiag.lab.log.partition_log import PartitionLog
from kdiag.lab.log.producers.append_info import AppendOrigin
from kdiag.lab.log.producers.marker import TransactionMarker, write_marker
from kdiag.wire.records.record import BatchHeader, ControlType, TimestampType
from made_values.log_maker import offsets_of, produced, records_of, values_of, written_by
from real_kafka import topic_maker
from real_kafka.kafka_cluster import KafkaCluster
from real_kafka.kafka_jars import java_command
from real_kafka.releases import USUAL

pytestmark = pytest.mark.soak

SMALL: Final = LogConfig(segment_bytes=20_000, index_interval_bytes=500)
STAMPED: Final = LogConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME)
COMPACTED: Final = LogConfig(
    cleanup_policy=frozenset({"compact"}), segment_bytes=10_000, index_interval_bytes=500
)
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
COMPLAINTS: Final = re.compile(
    r"mismatch|corrupt|invalid|isvalid: false|could not|exception", re.IGNORECASE
)
DUMPED_OFFSET: Final = re.compile(r"^\| offset: (\d+)", re.MULTILINE)


def write(log: PartitionLog) -> None:
    """Append batches of every codec, with transactions that commit and abort."""
    for at in range(60):
        key = b"%d" % (at % 20)
        header = written_by(7, at * 3, in_transaction=True)
        data = produced(*[b"%d" % at + b"." * 80] * 3, header=header, key=key)
        log.append_as_leader(data, leader_epoch=0)
        header = BatchHeader(compression=CODECS[at % 5])
        plain = produced(b"plain %d" % at, header=header, key=key)
        log.append_as_leader(plain, leader_epoch=0)
        if at % 10 == 9:
            control_type = ControlType.ABORT if at % 20 == 9 else ControlType.COMMIT
            marker = write_marker(TransactionMarker(control_type, 0, log.now_ms), 7, 0)
            log.append_as_leader(marker, 0, AppendOrigin.COORDINATOR)
    log.update_high_watermark(log.log_end_offset)


def committed(log: PartitionLog) -> list[bytes | None]:
    """Return the values that a consumer of committed records gets from a log of `write`."""
    aborted = log.aborted_transactions(0, log.log_end_offset)
    return [
        record.value
        for record in records_of(log)
        if (record.value or b"").startswith(b"plain")
        or (
            len(record.value or b"") > 80
            and not any(each.first_offset <= record.offset <= each.last_offset for each in aborted)
        )
    ]


@pytest.mark.real
@pytest.mark.parametrize(
    "config", [SMALL, STAMPED, COMPACTED], ids=["segments", "stamped", "compacted"]
)
def test_kafkas_own_tool_reads_our_files_without_complaint(
    tmp_path: Path, get_kafka_jars: Callable[[str], Path], config: LogConfig
) -> None:
    """Every record, every index entry, every aborted transaction, every snapshot of producers."""
    jars = get_kafka_jars(USUAL)
    folder = tmp_path / "orders-0"
    log = PartitionLog.open(folder, config, SystemClock())
    write(log)
    if config.is_compacted:
        log.append_as_leader(produced(None, key=b"1"), leader_epoch=0)
        log.update_high_watermark(log.log_end_offset)
        log.roll()
        LogCleaning(log, cleanable_part(log, 0)).run()
    log.close()
    files = sorted(folder.glob("0*"))
    dumped = subprocess.run(
        [
            *java_command(jars, "org.apache.kafka.tools.DumpLogSegments"),
            "--deep-iteration",
            "--files",
            ",".join(map(str, files)),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    said = dumped.stdout + dumped.stderr
    assert COMPLAINTS.findall(said) == []
    # It also says that offsets are not consecutive where a segment does not begin with 0.
    jumps = re.findall(r"(-?\d+) is followed by \d+", said)
    assert {*jumps} <= {"-1"} or config.is_compacted
    offsets = [int(offset) for offset in DUMPED_OFFSET.findall(dumped.stdout)]
    assert sorted(offsets) == offsets_of(log)
    assert config.is_compacted is (len(offsets) < log.log_end_offset)
    assert config.is_compacted is ("deleteHorizonMs: OptionalLong[" in dumped.stdout)
    aborted = log.aborted_transactions(0, log.log_end_offset)
    assert len(aborted) == 3
    for each in aborted:
        line = f"producerId: 7 firstOffset: {each.first_offset} lastOffset: {each.last_offset}"
        assert line in dumped.stdout
    snapshots = [*folder.glob("*.snapshot")]
    assert dumped.stdout.count("producerEpoch: 0 coordinatorEpoch: ") == len(snapshots) > 0


class KafkasLog(NamedTuple):
    """A Kafka that was killed, and what was in its topics.

    Attributes:
        cluster: it can be restarted.
        data: its folder of logs.
        values: of the topic `theirs`, in order.
    """

    cluster: KafkaCluster
    data: Path
    values: list[bytes]


@pytest.fixture(scope="module")
def killed(
    get_kafka_jars: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkasLog]:
    """Yield a Kafka that was killed after records were written, with two topics."""
    get_kafka_jars(USUAL)
    folder = tmp_path_factory.mktemp("kafka")
    small = {"segment.bytes": str(1 << 20), "index.interval.bytes": "500"}
    noise = Random(1)
    values = [b"%06d" % at + noise.randbytes(800) for at in range(5_000)]
    with KafkaCluster(USUAL, folder) as cluster:
        for topic in ("theirs", "ours"):
            topic_maker.create(cluster.bootstrap, topic, config=small)
        for codec in CODECS:
            share = values[CODECS.index(codec) :: len(CODECS)]
            records = [(b"key", value) for value in share]
            topic_maker.produce(
                cluster.bootstrap,
                "theirs",
                records,
                compression_type=codec,
                enable_idempotence=codec == CODECS[0],
            )
        topic_maker.produce(cluster.bootstrap, "ours", [(None, b"theirs before")])
        cluster.kill(1)
        yield KafkasLog(cluster, folder / "data-1", values)


def test_a_log_that_kafka_was_killed_over_is_opened(killed: KafkasLog, tmp_path: Path) -> None:
    """Its preallocated indexes are made anew, its producers are known, and one can go on."""
    folder = tmp_path / "theirs-0"
    shutil.copytree(killed.data / "theirs-0", folder)
    log = PartitionLog.open(folder, LogConfig(index_interval_bytes=500), SystemClock())
    assert sorted(value or b"" for value in values_of(log)) == killed.values
    assert len(log.segments) > 1
    assert log.topic_id == read_topic_id(killed.data / "theirs-0")
    (producer,) = log.producers.producers.values()
    assert producer.last_sequence == len(killed.values) // len(CODECS) - 1
    assert log.epochs.entries == [(0, 0)]
    assert log.append_as_leader(produced(b"more"), leader_epoch=1).first_offset == 5_000


def test_a_whole_folder_of_kafkas_is_opened(killed: KafkasLog, tmp_path: Path) -> None:
    """Checkpoints, KRaft's own log and files that we do not know included."""
    shutil.copytree(killed.data, tmp_path / "data")
    with LogDirectory(tmp_path / "data", SystemClock()) as logs:
        assert not logs.was_closed
        assert logs.faults == {}
        assert {("theirs", 0), ("ours", 0), ("__cluster_metadata", 0)} <= {*logs.logs}


def test_kafka_goes_on_with_a_log_of_ours(killed: KafkasLog, tmp_path: Path) -> None:
    """It trusts our indexes, gives consumers what is committed and appends; then we go on."""
    folder = killed.data / "ours-0"
    topic_id = read_topic_id(folder)
    assert topic_id is not None
    shutil.rmtree(folder)
    ours = PartitionLog.open(folder, SMALL, SystemClock())
    ours.assign_topic_id(topic_id)
    write(ours)
    ours.close()
    expected = committed(ours)
    assert 60 < len(expected) < ours.log_end_offset
    (killed.data / CLEAN_SHUTDOWN).write_text('{"version":0,"brokerEpoch":-1}')
    killed.cluster.restart(1)
    topic_maker.produce(killed.cluster.bootstrap, "ours", [(None, b"plain, from Kafka")])
    assert consumed(killed.cluster.bootstrap, len(expected) + 1) == [
        *expected,
        b"plain, from Kafka",
    ]
    killed.cluster.kill(1)
    shutil.copytree(folder, tmp_path / "ours-0")
    again = PartitionLog.open(tmp_path / "ours-0", SMALL, SystemClock(), LogOrigin())
    assert values_of(again)[-1] == b"plain, from Kafka"
    assert again.log_end_offset == ours.log_end_offset + 1
    assert again.aborted_transactions(0, 1000) == ours.aborted_transactions(0, 1000)


def consumed(bootstrap: str, count: int) -> list[bytes | None]:
    """Return the values that a consumer of committed records gets from the start on."""
    options = {
        "bootstrap.servers": bootstrap,
        "group.id": "readers",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
    }
    consumer = Consumer(options)
    try:
        consumer.assign([TopicPartition("ours", 0, 0)])
        messages = consumer.consume(count, timeout=30)
        assert [message.error() for message in messages if message.error()] == []
        return [message.value() for message in messages]
    finally:
        consumer.close()
