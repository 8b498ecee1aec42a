"""What librdkafka does with a cluster, by its Python binding. Usage: BOOTSTRAP NAME STAGE..."""

import json
import sys
from collections.abc import Callable
from time import monotonic
from typing import Any, Final

import confluent_kafka
from confluent_kafka import admin as foreign_admin

from foreign_clients.judged import (
    ACKS,
    CODECS,
    DEADLINE_S,
    LATER,
    OFFSET_IN_A_TRANSACTION,
    PACE_S,
    RECORD,
    STEADY_S,
    TRANSACTIONS,
    text_of,
)

BOOTSTRAP, NAME, *STAGES = sys.argv[1:]
COMMON: Final[dict[str, Any]] = {"bootstrap.servers": BOOTSTRAP}
RESULT: Final[dict[str, Any]] = {}


def send(settings: dict[str, Any], value: str, partition: int = -1) -> None:
    """Send a record, and wait for it."""
    errors: list[object] = []
    producer = confluent_kafka.Producer({**COMMON, "linger.ms": 0, **settings})
    producer.produce(
        NAME, value, "key", partition, on_delivery=lambda error, _: errors.append(error)
    )
    assert producer.flush(DEADLINE_S) == 0
    assert errors == [None]


def records() -> None:
    """Create a topic, and produce."""
    admin = foreign_admin.AdminClient(COMMON)
    new = foreign_admin.NewTopic(NAME, 2, 1)  # type: ignore[attr-defined]
    for future in admin.create_topics([new]).values():
        future.result(DEADLINE_S)
    RESULT["created"], RESULT["produced"] = 0, 0
    for acks in ACKS:
        for codec in CODECS:
            settings = {"compression.type": codec, "acks": acks}
            send({**settings, "enable.idempotence": acks == "all"}, text_of(codec, acks), 0)
            RESULT["produced"] += 1


class Member:
    """A member of the group."""

    def __init__(self) -> None:
        self.held = 0
        self.values: list[str] = []
        settings = {"group.id": NAME, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        self.consumer = confluent_kafka.Consumer(
            {**COMMON, **settings, "heartbeat.interval.ms": 200, "session.timeout.ms": 6000}
        )
        self.consumer.subscribe([NAME], on_assign=self.assign, on_revoke=self.revoke)

    def assign(self, _: object, partitions: list[confluent_kafka.TopicPartition]) -> None:
        """Count those that are given."""
        self.held = len(partitions)

    def revoke(self, *_: object) -> None:
        """Count none."""
        self.held = 0

    def poll(self) -> None:
        """Read for a moment."""
        for message in self.consumer.consume(100, 0.05):
            assert message.error() is None, message.error()
            self.values.append((message.value() or b"").decode())

    def commit(self) -> list[str]:
        """Commit what was read, and return it."""
        read, self.values = self.values, []
        self.consumer.commit(asynchronous=False)
        return read


def until(condition: Callable[[], bool], *members: Member) -> None:
    """Have members read until something holds."""
    end_s = monotonic() + DEADLINE_S
    while not condition():
        assert monotonic() < end_s, [(each.held, each.values) for each in members]
        for each in members:
            each.poll()


def groups() -> None:
    """Share the topic, leave, and go on later."""
    first = Member()
    until(lambda: first.held == 2 and len(first.values) >= RESULT["produced"], first)
    first.commit()
    second = Member()
    until(lambda: first.held == second.held == 1, first, second)
    second.consumer.close()
    until(lambda: first.held == 2, first)
    first.consumer.close()
    send({}, LATER)
    third = Member()
    until(lambda: bool(third.values), third)
    RESULT["shared"], RESULT["resumed"] = [2, 1, 1, 2], third.commit()
    third.consumer.close()


def transactions() -> None:
    """Commit, abort, commit, and read what is committed."""
    reader = confluent_kafka.Consumer(
        {
            **COMMON,
            "group.id": f"{NAME}-offsets",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    producer = confluent_kafka.Producer({**COMMON, "transactional.id": NAME})
    producer.init_transactions(DEADLINE_S)
    offsets = [confluent_kafka.TopicPartition(NAME, 1, OFFSET_IN_A_TRANSACTION)]
    for value, is_committed in TRANSACTIONS.items():
        producer.begin_transaction()
        producer.produce(NAME, value, partition=1)
        assert producer.flush(DEADLINE_S) == 0
        group = reader.consumer_group_metadata()
        producer.send_offsets_to_transaction(offsets, group, DEADLINE_S)
        end = producer.commit_transaction if is_committed else producer.abort_transaction
        end(DEADLINE_S)
    reader.assign([confluent_kafka.TopicPartition(NAME, 1, 0)])
    RESULT["transactions"] = committed(reader)
    reader.close()


def committed(reader: confluent_kafka.Consumer) -> list[str]:
    """Read what is committed, up to the last transaction."""
    values = [LATER]
    while values[-1] != [*TRANSACTIONS][-1]:
        message = reader.poll(DEADLINE_S)
        assert message is not None, values
        assert message.error() is None, message.error()
        values.append((message.value() or b"").decode())
    return [value for value in values if value != LATER]


def steady() -> None:
    """Write and read for a while, as a program does that sets nothing."""
    producer = confluent_kafka.Producer(COMMON)
    consumer = confluent_kafka.Consumer({**COMMON, "group.id": NAME})
    consumer.subscribe([NAME])
    end_s = monotonic() + STEADY_S
    while monotonic() < end_s:
        producer.produce(NAME, RECORD)
        producer.poll(0)
        consumer.poll(PACE_S)
    producer.flush(DEADLINE_S)
    consumer.close()


stages = {"records": records, "groups": groups, "transactions": transactions, "steady": steady}
for stage in STAGES:
    stages[stage]()
sys.stdout.write(json.dumps(RESULT))
