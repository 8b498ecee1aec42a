"""What happens to a cluster while a tail follows neither loses records nor floods anybody."""

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from client_ends.judge_consumer import JudgedRecord, judged
from client_ends.steady_writer import SteadyWriter
from client_ends.tail_reader import CLOCK, TailReader
from client_ends.transaction_writer import TransactionWriter
from kdiag.client.fetch.position import NoticeKind, PartitionKey
from kdiag.client.fetch.repositioning import ASK_NS
from kdiag.client.fetch.session import FetchLimits
from programs.kdiag_program import start_kdiag
from real_kafka import topic_changes, topic_maker
from real_kafka.kafka_cluster import KafkaCluster, free_ports
from real_kafka.leader_killer import LeaderKiller
from real_kafka.releases import USUAL
from real_kafka.secure_cluster import USERS, Listener, SecureCluster

pytestmark = pytest.mark.soak
ROUNDS = int(os.environ.get("KDIAG_SOAK_ROUNDS", "2"))
PARTITIONS = 6
S_NS = 1_000_000_000
NOTICES_EARLY = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "log.retention.check.interval.ms": "500",
    "log.initial.task.delay.ms": "500",
}


@pytest.fixture(scope="module")
def cluster(
    get_kafka_jars: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaCluster]:
    """Three nodes."""
    get_kafka_jars(USUAL)
    folder = tmp_path_factory.mktemp("survival")
    with KafkaCluster(USUAL, folder, ports=free_ports(3), properties=NOTICES_EARLY) as cluster:
        yield cluster


def create(cluster: KafkaCluster, topic: str, partitions: int) -> None:
    """Create a topic that outlives the death of a broker."""
    topic_maker.create(cluster.bootstrap, topic, partitions, 3, {"min.insync.replicas": "2"})


def expect(reader: TailReader, found: list[JudgedRecord]) -> None:
    """Read on until all that the judge found has come; nothing else may."""
    reader.read_until(lambda: reader.count >= len(found))
    for key, records in reader.records.items():
        expected = [(each.offset, each.value) for each in found if each.partition == key.partition]
        assert records == expected


@pytest.mark.real
def test_no_record_is_lost_and_none_comes_twice_while_leaders_are_killed(
    cluster: KafkaCluster,
) -> None:
    """Under an idempotent producer with acks=all; each partition comes whole and in order."""
    create(cluster, "killed", PARTITIONS)
    killer = LeaderKiller(cluster, "killed", ROUNDS)
    with (
        TailReader(cluster.bootstrap, "killed", "beginning") as reader,
        SteadyWriter(cluster.bootstrap, "killed", PARTITIONS) as writer,
    ):
        killer.start()
        reader.read_until(lambda: not killer.is_alive(), 120 * ROUNDS)
        writer.finish()
        reader.read_until(lambda: reader.count >= writer.count)
    for partition in range(PARTITIONS):
        assert reader.values(partition) == writer.values(partition)
    assert len(reader.told(NoticeKind.DISCONNECTED)) <= 2 * ROUNDS
    assert len(reader.notices) <= 8 * ROUNDS
    assert {each.kind for each in reader.notices} <= {
        NoticeKind.DISCONNECTED,
        NoticeKind.RECOVERED,
        NoticeKind.LEADER_MOVED,
        NoticeKind.NO_LEADER,
    }


def test_transactions_are_read_as_their_isolation_wants_while_leaders_are_killed(
    cluster: KafkaCluster,
) -> None:
    """Exactly what librdkafka finds there at last, partition by partition in order."""
    create(cluster, "txn", 3)
    uncommitted = FetchLimits(is_committed_only=False)
    killer = LeaderKiller(cluster, "txn", (ROUNDS + 1) // 2)
    with (
        TailReader(cluster.bootstrap, "txn", "beginning") as committed,
        TailReader(cluster.bootstrap, "txn", "beginning", limits=uncommitted) as everything,
        TransactionWriter(cluster.bootstrap, "txn", 3) as writer,
    ):
        everything.read_until(lambda: everything.count > 24)  # some transactions of either kind
        killer.start()
        while killer.is_alive():
            committed.read_once()
            everything.read_once()
        writer.finish()
        for reader, isolation in (committed, "read_committed"), (everything, "read_uncommitted"):
            expect(reader, judged(cluster.bootstrap, "txn", isolation))
    assert 0 < committed.count < everything.count
    assert writer.committed * 6 == committed.count


def test_leaders_that_move_without_a_death_are_one_line(cluster: KafkaCluster) -> None:
    """Another replica is preferred and elected; nobody was away."""
    create(cluster, "moved", 3)
    with (
        TailReader(cluster.bootstrap, "moved", "beginning") as reader,
        SteadyWriter(cluster.bootstrap, "moved", 3) as writer,
    ):
        reader.read_until(lambda: reader.count > 100)
        before = [each.leader_id or 0 for each in reader.tail.positions.values()]
        others = [[n % 3 + 1, (n + 1) % 3 + 1, n] for n in before]
        topic_changes.move_leaders(cluster.bootstrap, "moved", others)
        reader.read_until(lambda: [reader.leader(n) for n in range(3)] == [e[0] for e in others])
        writer.finish()
        reader.read_until(lambda: reader.count >= writer.count)
    assert [reader.values(n) for n in range(3)] == [writer.values(n) for n in range(3)]
    assert {each.kind for each in reader.notices} == {NoticeKind.LEADER_MOVED}
    assert len(reader.notices) <= 3


def test_a_topic_that_is_deleted_and_created_anew_is_read_from_its_beginning(
    cluster: KafkaCluster,
) -> None:
    """One line says that it is gone, one that it is another, and up to where the old one came."""
    create(cluster, "anew", 2)
    topic_maker.produce(cluster.bootstrap, "anew", [(None, b"old")] * 3, 0)
    topic_maker.produce(cluster.bootstrap, "anew", [(None, b"old")] * 4, 1)
    with TailReader(cluster.bootstrap, "anew", "beginning") as reader:
        reader.read_until(lambda: reader.count == 7)
        topic_maker.delete(cluster.bootstrap, "anew")
        reader.read_until(lambda: bool(reader.told(NoticeKind.DELETED)))
        create(cluster, "anew", 2)
        topic_maker.produce(cluster.bootstrap, "anew", [(None, b"new")] * 2, 1)
        reader.read_until(lambda: reader.count == 9)
    assert reader.values(0) == [b"old"] * 3
    assert reader.values(1) == [b"old"] * 4 + [b"new"] * 2
    assert [each.kind for each in reader.notices] == [NoticeKind.DELETED, NoticeKind.RECREATED]
    (text,) = reader.told(NoticeKind.RECREATED)
    assert text.startswith("anew[0@3,1@4]: created anew")


def test_partitions_that_are_added_are_read_from_their_beginnings(cluster: KafkaCluster) -> None:
    """Records may be in them before anybody has noticed."""
    create(cluster, "grows", 1)
    with TailReader(cluster.bootstrap, "grows", "end") as reader:
        topic_changes.add_partitions(cluster.bootstrap, "grows", 3)
        topic_changes.await_topic(cluster.bootstrap, "grows", 3)
        topic_maker.produce(cluster.bootstrap, "grows", [(None, b"first")] * 5, 2)
        reader.read_until(lambda: reader.count == 5)
    assert reader.values(2) == [b"first"] * 5
    assert reader.told(NoticeKind.ADDED) == ["new: grows[1-2]; reading from the beginning"]
    assert len(reader.notices) == 1


def test_records_that_are_deleted_before_they_were_read_are_told_with_offsets(
    cluster: KafkaCluster,
) -> None:
    """What was read and what was told to be missing are all offsets, each once."""
    create(cluster, "deleted", 1)
    for _ in range(30):
        topic_maker.produce(cluster.bootstrap, "deleted", [(None, b"x" * 500)] * 10, 0)
    small = FetchLimits(max_bytes=6_000, partition_max_bytes=6_000)
    with TailReader(cluster.bootstrap, "deleted", "beginning", limits=small) as reader:
        reader.read_until(lambda: reader.count >= 20)
        topic_changes.delete_records(cluster.bootstrap, "deleted", {0: 250})
        reader.read_until(lambda: reader.last_offset(0) == 299)
    (text,) = reader.told(NoticeKind.REMOVED)
    first, last = map(int, re.findall(r"offsets (\d+) to (\d+)", text)[0])
    read = [offset for offset, _ in reader.records[PartitionKey("deleted", 0)]]
    assert last == 249
    assert read == [*range(first), *range(250, 300)]
    assert len(reader.notices) == 1


def test_a_broker_that_hangs_does_not_hold_the_others(cluster: KafkaCluster) -> None:
    """What others lead is read on, but for one question that the broker does not answer."""
    topic_maker.create(cluster.bootstrap, "hangs", 3)
    with (
        TailReader(cluster.bootstrap, "hangs", "beginning") as reader,
        SteadyWriter(cluster.bootstrap, "hangs", 3) as writer,
    ):
        reader.read_until(lambda: reader.count > 100)
        victim = reader.leader(0)
        cluster.pause(victim)
        there = reader.count
        reader.longest_silence_ns = 0
        reader.read_until(lambda: reader.count > there + 4000)
        assert reader.longest_silence_ns < 2 * ASK_NS
        cluster.resume(victim)
        writer.finish()
        reader.read_until(lambda: reader.count >= writer.count)
    assert [reader.values(n) for n in range(3)] == [writer.values(n) for n in range(3)]
    assert len(reader.notices) <= 4


def test_rights_that_are_withdrawn_and_given_back_are_a_line_each(
    get_secure_cluster: Callable[[str], SecureCluster],
) -> None:
    """What was written meanwhile is read when they are back."""
    secure = get_secure_cluster(USUAL)
    free = secure.address(Listener.PLAINTEXT)
    topic_maker.create(free, "private", 3)
    topic_changes.allow(free, "private", "bob")
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="bob"'
    properties = [
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=PLAIN",
        f'sasl.jaas.config={login} password="{USERS["bob"]}";',
    ]
    address = secure.address(Listener.SASL_PLAINTEXT)
    topic_maker.produce(free, "private", [(None, b"before")] * 9)
    with TailReader(address, "private", "beginning", properties=properties) as reader:
        reader.read_until(lambda: reader.count == 9)
        topic_changes.withdraw(free, "private", "bob")
        topic_maker.produce(free, "private", [(None, b"meanwhile")] * 9)
        reader.read_until(lambda: bool(reader.told(NoticeKind.DENIED)))
        topic_changes.allow(free, "private", "bob")
        reader.read_until(lambda: reader.count == 18)
        reader.read_until(lambda: bool(reader.told(NoticeKind.RECOVERED)))
    assert [each.text for each in reader.notices] == [
        "private[0-2]: not authorized (TOPIC_AUTHORIZATION_FAILED)",
        "private[0-2]: read again",
    ]


def test_an_interrupt_ends_a_tail_at_once_while_all_brokers_hang(cluster: KafkaCluster) -> None:
    """It waits for nobody, and says where it stopped."""
    create(cluster, "interrupted", 1)
    topic_maker.produce(cluster.bootstrap, "interrupted", [(None, b"read")])
    arguments = ("tail", "-b", cluster.bootstrap, "interrupted", "-o", "beginning")
    with start_kdiag(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert b"read" in process.stdout.readline()
        for number in (1, 2, 3):
            cluster.pause(number)
        before_ns = CLOCK.monotonic_ns()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
        took_ns = CLOCK.monotonic_ns() - before_ns
        for number in (1, 2, 3):
            cluster.resume(number)
    assert process.returncode == 130
    assert b"to go on from here: kdiag tail interrupted:0@1,new" in told
    assert took_ns < 10 * S_NS, "a request would be waited for much longer"
