"""kdiag's own commands about groups, records and transactions, against a lab."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from time import monotonic
from typing import Any, Final

import confluent_kafka
import pytest

from kdiag.clock import SystemClock
from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.broker.seed_records import seed_records
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.coordinator.group.group_config import GroupCoordinatorConfig
from programs.kdiag_program import Done, kdiag

pytestmark = pytest.mark.soak

RECORDS: Final = 100
DEADLINE_S: Final = 60
AT_ONCE: Final = GroupCoordinatorConfig(group_initial_rebalance_delay_ms=0)


@pytest.fixture(scope="module")
def lab() -> Iterator[LabCluster]:
    """Return a lab with records in a topic of two partitions."""
    internal = [NewTopic(name, 1) for name in ("__transaction_state", "__consumer_offsets")]
    topics = (NewTopic("orders", 2), NewTopic("paid", 1), *internal)
    with LabCluster(LabSettings(topics=topics, group_config=AT_ONCE)) as running:
        seed_records(running, RECORDS, SystemClock())
        yield running


def ask(lab: LabCluster, *arguments: str, code: int = 0) -> Done:
    """Run a command against it."""
    done = kdiag(*arguments, "-b", lab.bootstrap)
    assert done.code == code, done
    return done


def data_of(lab: LabCluster, *arguments: str, code: int = 0) -> Any:
    """Return the data of the document that a command prints."""
    return json.loads(ask(lab, *arguments, "-o", "json", code=code).out)["data"]


def member(lab: LabCluster, group: str, protocol: str) -> confluent_kafka.Consumer:
    """Return a member of a group that reads `orders`."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": lab.bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["orders"])
    return consumer


def settle(*members: confluent_kafka.Consumer) -> None:
    """Have the members read until each has as many partitions as the others."""
    until_s = monotonic() + DEADLINE_S
    while any(len(each.assignment()) != 2 // len(members) for each in members):
        assert monotonic() < until_s
        for each in members:
            each.poll(0.05)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_and_their_rebalances_are_told(lab: LabCluster, protocol: str) -> None:
    """Of both protocols: members, what is committed, and who caused which generation."""
    group = f"{protocol}-readers"
    with ExitStack() as running:
        first = running.enter_context(closing(member(lab, group, protocol)))
        settle(first)
        first.commit(offsets=[confluent_kafka.TopicPartition("orders", 0, 5)], asynchronous=False)
        second = running.enter_context(closing(member(lab, group, protocol)))
        settle(first, second)
        (told,) = data_of(lab, "groups", group)
        explained = ask(lab, "rebalance", "explain", group)
    assert (told["group"], told["state"], told["type"]) == (group, "Stable", protocol)
    assert (told["members"], told["lag_exact"], told["uncommitted"]) == (2, True, 1)
    assert [each["committed"] for each in told["partition_list"]] == [5, None]
    assert explained.out.count("member joined") == 2


@pytest.mark.real
def test_records_are_followed_to_the_end(lab: LabCluster) -> None:
    """Those of clients, and what the coordinators have written."""
    with closing(member(lab, "followers", "classic")) as consumer:
        settle(consumer)
        consumer.commit(
            asynchronous=False, offsets=[confluent_kafka.TopicPartition("orders", 0, 1)]
        )
    lines = ask(lab, "tail", "orders", "--from-beginning", "-e").out.splitlines()
    assert len(lines) == RECORDS
    written = ask(lab, "tail", "__consumer_offsets", "--from-beginning", "-e").out
    assert "followers" in written


@pytest.mark.real
def test_open_transactions_are_told(lab: LabCluster) -> None:
    """With their producer, until they end."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": lab.bootstrap, "transactional.id": "payer"}
    )
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    producer.produce("paid", b"1")
    assert producer.flush(DEADLINE_S) == 0
    (told,) = data_of(lab, "txn", "list")
    assert (told["transactional_id"], told["state"], told["hanging"]) == ("payer", "Ongoing", False)
    assert told["partitions"][0]["blocked_records"] == 1
    producer.commit_transaction(DEADLINE_S)
    states = {each["state"] for each in data_of(lab, "txn", "list")}
    assert states <= {"PrepareCommit"}
