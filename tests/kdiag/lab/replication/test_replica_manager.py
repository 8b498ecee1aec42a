"""The partitions of a node, alone and among others.

Left out of Kafka's ReplicaManagerTest: log directories that fail one by one and replicas that move
between them (a broker has one folder), fetches from followers (no racks), tiered storage, quotas,
the DeleteRecords purgatory (followers need not be waited for here), and ZooKeeper's requests. Of
PartitionTest: observers and ELR, log directory ids, and truncation as followers did it before 2.7.
"""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.lab.broker.lab_cluster import LabSettings
from kdiag.lab.controller.quorum_controller import IsrChange, NewTopic
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.log.log_directory import LogDirectory
from kdiag.lab.log.partition_log import FetchIsolation
from kdiag.lab.log.refusal import LogFileError
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.record_fetch import FetchedRecords, PartitionFetch, ReadLimits
from kdiag.lab.replication.replica_manager import HOUSEKEEPING_NS, ReplicaManager, WaitTerms
from kdiag.lab.replication.replication_config import ReplicationConfig
from kdiag.wire.error_code import error_name
from lab_ends.one_node import OneNode, batch
from lab_ends.several.stepped_lab import SteppedLab

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kdiag.wire.api.produce import PartitionProduceResponse

Key = TopicPartitionOperationKey
ORDERS = Key("orders", 0)
LIMITS = ReadLimits(-1, 1 << 20, FetchIsolation.HIGH_WATERMARK)


class Answers:
    """What was answered.

    Attributes:
        produced: the responses of each produce.
        fetched: what each fetch got.
    """

    def __init__(self, node: OneNode) -> None:
        self.node = node
        self.produced: list[Mapping[Key, PartitionProduceResponse]] = []
        self.fetched: list[Mapping[Key, FetchedRecords]] = []

    def produce(self, *keys: Key, acks: int = -1, data: bytes | None = None) -> None:
        """Append a batch to some partitions."""
        records = dict.fromkeys(keys, batch(2) if data is None else data)
        self.node.replicas.append_records(records, acks, 10 * NS_PER_MS, self.produced.append)

    def fetch(self, *keys: Key, offset: int = 0, wait: WaitTerms | None = None) -> None:
        """Read from some partitions."""
        self.node.replicas.fetch_records(
            dict.fromkeys(keys, PartitionFetch(offset, 1 << 20)),
            LIMITS,
            wait or WaitTerms(50 * NS_PER_MS, 1),
            self.fetched.append,
        )

    def errors(self, number: int = -1) -> list[str]:
        """Return the errors of the partitions of a produce."""
        return [error_name(each.error_code) for each in self.produced[number].values()]


@pytest.fixture
def answers(node: OneNode) -> Answers:
    """Return a node, and what it answers."""
    return Answers(node)


def test_a_produce_that_every_replica_has_is_answered_at_once(
    node: OneNode, answers: Answers
) -> None:
    """With the offset of its first record."""
    node.create("orders", 1)
    answers.produce(ORDERS)
    answers.produce(ORDERS, acks=1)
    answers.produce(ORDERS, acks=0)
    assert [each[ORDERS].base_offset for each in answers.produced] == [0, 2, 4]
    assert answers.errors() == ["NONE"]


def test_acks_all_waits_for_replicas_and_others_do_not(node: OneNode, answers: Answers) -> None:
    """It is answered when the high watermark is there, or timed out when its time is up."""
    node.create("orders", 1, 2)
    answers.produce(ORDERS, acks=1)
    assert answers.errors() == ["NONE"]
    answers.produce(ORDERS)
    answers.produce(ORDERS)
    assert len(answers.produced) == 1
    assert node.replicas.produces.delayed_count == 2
    node.replicas.partition(ORDERS).log.update_high_watermark(4)
    node.replicas.handle_high_watermark(ORDERS)
    assert answers.errors() == ["NONE"]
    node.clock.advance(10 * NS_PER_MS)
    node.replicas.advance()
    assert answers.errors() == ["REQUEST_TIMED_OUT"]
    assert len(answers.produced) == 3


def test_each_partition_of_a_produce_has_its_error(node: OneNode, answers: Answers) -> None:
    """Those that have none are written."""
    node.create("orders", 1)
    node.create("elsewhere", 2)
    answers.produce(ORDERS, Key("orders", 1), Key("elsewhere", 0), Key("nothing", 0))
    assert answers.errors() == [
        "NONE",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "NOT_LEADER_OR_FOLLOWER",
        "UNKNOWN_TOPIC_OR_PARTITION",
    ]
    answers.produce(ORDERS, data=batch()[:-1] + b"\1")
    assert answers.errors() == ["CORRUPT_MESSAGE"]
    assert answers.produced[-1][ORDERS].base_offset == -1
    assert "checksum" in (answers.produced[-1][ORDERS].error_message or "")


def test_records_that_are_refused_are_named(node: OneNode, answers: Answers) -> None:
    """By their numbers in the batch (KIP-467)."""
    node.create("orders", 1, message_timestamp_before_max_ms="1")
    answers.produce(ORDERS, data=batch(2, timestamp=1))
    assert answers.errors() == ["INVALID_TIMESTAMP"]
    assert [each.batch_index for each in answers.produced[0][ORDERS].record_errors] == [0, 1]


def test_a_fetch_waits_for_records(node: OneNode, answers: Answers) -> None:
    """An append answers it."""
    node.create("orders", 1)
    answers.fetch(ORDERS)
    assert answers.fetched == []
    assert node.replicas.fetches.delayed_count == 1
    answers.produce(ORDERS, acks=1)
    assert answers.fetched[0][ORDERS].size == len(batch(2))
    assert node.replicas.fetches.delayed_count == 0


def test_a_fetch_is_answered_with_nothing_when_its_time_is_up(
    node: OneNode, answers: Answers
) -> None:
    """The manager says when it has to be called."""
    node.create("orders", 1)
    answers.fetch(ORDERS)
    began_ns = node.clock.monotonic_ns()
    while not answers.fetched:
        due_ns = node.replicas.advance()
        assert due_ns is not None
        node.clock.advance(due_ns - node.clock.monotonic_ns())
        node.replicas.advance()
    assert answers.fetched[0][ORDERS].size == 0
    assert node.clock.monotonic_ns() == began_ns + 50 * NS_PER_MS
    assert node.replicas.advance() == began_ns + HOUSEKEEPING_NS


@pytest.mark.parametrize("wait", [WaitTerms(0, 1), WaitTerms(NS_PER_S, 0)])
def test_a_fetch_that_waits_for_nothing_is_answered_at_once(
    node: OneNode, answers: Answers, wait: WaitTerms
) -> None:
    """No time, or no bytes."""
    node.create("orders", 1)
    answers.fetch(ORDERS, wait=wait)
    assert answers.fetched[0][ORDERS].size == 0


def test_an_error_is_answered_at_once(node: OneNode, answers: Answers) -> None:
    """Though others of the same fetch have nothing yet; so is a fetch of no partition."""
    node.create("orders", 1)
    answers.fetch(ORDERS, Key("nothing", 0))
    assert len(answers.fetched) == 1
    answers.fetch()
    assert answers.fetched[1] == {}


def test_what_waits_for_a_topic_that_is_deleted_is_answered(
    node: OneNode, answers: Answers, tmp_path: Path
) -> None:
    """With the error; its files are gone."""
    node.create("orders", 1, 2)
    answers.fetch(ORDERS)
    answers.produce(ORDERS)
    node.controller.delete_topic("orders")
    assert answers.errors() == ["UNKNOWN_TOPIC_OR_PARTITION"]
    assert error_name(answers.fetched[0][ORDERS].error_code) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
    assert repr(node.replicas) == "<ReplicaManager of broker 1: 0 partitions>"


def test_a_topic_of_the_same_name_is_another_one(node: OneNode, answers: Answers) -> None:
    """Its records are not those of the one before."""
    node.create("orders", 1)
    answers.produce(ORDERS)
    node.controller.delete_topic("orders")
    node.create("orders", 1)
    assert node.replicas.partition(ORDERS).log.log_end_offset == 0


def test_new_settings_count_from_now_on(node: OneNode, answers: Answers) -> None:
    """Of the log, and of the partition."""
    node.create("orders", 1, 2)
    node.controller.remove_broker(2)
    node.controller.set_topic_configs(
        "orders", {"max.message.bytes": "10", "min.insync.replicas": "2"}
    )
    answers.produce(ORDERS, acks=1)
    answers.produce(ORDERS, acks=-1)
    assert [answers.errors(0), answers.errors(1)] == [
        ["MESSAGE_TOO_LARGE"],
        ["NOT_ENOUGH_REPLICAS"],
    ]


def test_a_log_that_cannot_be_opened_is_offline_alone(
    node: OneNode, answers: Answers, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One line says so, and its partition is KAFKA_STORAGE_ERROR."""
    (tmp_path / "orders-0").write_bytes(b"a file")
    with caplog.at_level(logging.WARNING):
        node.create("orders", 1)
    node.create("good", 1)
    answers.produce(ORDERS, Key("good", 0))
    assert answers.errors() == ["KAFKA_STORAGE_ERROR", "NONE"]
    assert "orders-0 is offline" in caplog.text


def test_old_records_are_deleted_and_checkpoints_written_now_and_then(
    node: OneNode, answers: Answers, tmp_path: Path
) -> None:
    """Every five seconds."""
    node.create("orders", 1, retention_ms="1000")
    answers.produce(ORDERS)
    node.clock.advance(HOUSEKEEPING_NS)
    node.replicas.advance()
    assert node.replicas.partition(ORDERS).log.log_start_offset == 2
    checkpoint = (tmp_path / "replication-offset-checkpoint").read_text(encoding="utf-8")
    assert "orders 0 2" in checkpoint


def test_records_are_there_again_after_a_restart(
    node: OneNode, answers: Answers, tmp_path: Path
) -> None:
    """The folder keeps them, as far as the high watermark."""
    node.create("orders", 1)
    answers.produce(ORDERS)
    node.replicas.close()
    logs = LogDirectory(tmp_path, node.clock)
    again = ReplicaManager(1, logs, node.clock)
    with pytest.raises(RequestRefusedError):
        again.partition(ORDERS)
    again.handle_image(node.controller.image)
    assert again.partition(ORDERS).log.high_watermark == 2
    again.close()
    with pytest.raises(LogFileError):
        LogDirectory(Path("/proc/nothing"), node.clock)


@pytest.fixture
def lab() -> Iterator[SteppedLab]:
    """Return three brokers that have a partition; who lags for two seconds is not in sync."""
    replication = ReplicationConfig(replica_lag_time_max_ms=2000)
    configs = {"min.insync.replicas": "2"}
    new = NewTopic("orders", assignments={0: (1, 2, 3)}, configs=configs)
    settings = LabSettings(node_count=3, replication=replication)
    with SteppedLab(new, settings=settings) as running:
        yield running


@pytest.mark.thorough
def test_a_follower_that_lags_holds_up_acks_all_until_it_is_not_in_sync(lab: SteppedLab) -> None:
    """Then those that are suffice; it is in sync again as soon as it has what they have."""
    lab.paused = {3}
    lab.produce(ORDERS, batch())
    lab.advance(NS_PER_S)
    assert lab.answers == []
    lab.advance(4 * NS_PER_S)
    assert lab.answers == ["NONE"]
    assert lab.registration(ORDERS).isr == (1, 2)
    lab.paused = set()
    lab.until(lambda: lab.registration(ORDERS).isr == (1, 2, 3))
    assert lab.ends(ORDERS)[2][1] == 1


def test_acks_all_is_refused_while_too_few_are_in_sync(lab: SteppedLab) -> None:
    """Others are not; and what they have written is no record that a consumer may read."""
    lab.stop_node(3)
    lab.stop_node(2)
    lab.produce(ORDERS, batch())
    lab.produce(ORDERS, batch(), acks=1)
    assert lab.answers == ["NOT_ENOUGH_REPLICAS", "NONE"]
    lab.advance(NS_PER_S)
    assert lab.ends(ORDERS) == [(0, 1)]
    lab.start_node(2)
    lab.until(lambda: lab.registration(ORDERS).isr == (1, 2))
    lab.advance(NS_PER_S)
    assert lab.ends(ORDERS) == [(1, 1), (1, 1)]


@pytest.mark.thorough
def test_who_waits_for_replicas_is_told_when_another_leads(lab: SteppedLab) -> None:
    """The partition is no longer led from there."""
    lab.paused = {2, 3}
    lab.produce(ORDERS, batch())
    assert lab.answers == []
    lab.stop_node(1)
    assert lab.answers == ["NOT_LEADER_OR_FOLLOWER"]


def test_a_follower_that_was_started_again_is_not_taken_for_what_it_was(lab: SteppedLab) -> None:
    """A leader that has not heard of that would have it in sync by what it said before."""
    leader = lab.replica(ORDERS, 1)
    lab.produce(ORDERS, batch())
    lab.until(lambda: lab.answers)
    before = leader.followers[3].broker_epoch
    assert before == lab.controller.image.brokers[3].epoch
    lab.stop_node(3)
    lab.start_node(3)
    assert leader.isr_with(3) == {1: -1, 2: leader.followers[2].broker_epoch, 3: before}
    registration = leader.registration
    change = IsrChange(
        *ORDERS[:2], registration.leader_epoch, registration.partition_epoch, {1: -1, 3: before}
    )
    lab.controller.alter_partitions(1, [change])
    assert lab.registration(ORDERS).isr == (1, 2)
    lab.until(lambda: lab.registration(ORDERS).isr == (1, 2, 3))
