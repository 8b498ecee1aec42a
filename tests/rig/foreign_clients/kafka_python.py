"""What kafka-python does with a cluster, for tests. Usage: BOOTSTRAP NAME STAGE..."""

import json
import sys
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any, Final

import kafka
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.consumer.subscription_state import ConsumerRebalanceListener
from kafka.structs import OffsetAndMetadata, TopicPartition

from foreign_clients.judged import (
    CODECS_OF,
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
COMMON: Final[dict[str, Any]] = {"bootstrap_servers": BOOTSTRAP}
ACKS: Final[dict[str, object]] = {"all": "all", "1": 1, "0": 0}
RESULT: Final[dict[str, Any]] = {}
_POLL_MS: Final = 500
"""A member whose join is answered between two polls joins once more: let that be rare."""
READ: Final = TopicPartition(NAME, 1)


def records() -> None:
    """Create a topic, and produce."""
    admin = KafkaAdminClient(**COMMON)
    admin.create_topics([NewTopic(NAME, 2, 1)])
    admin.close()
    RESULT["created"], RESULT["produced"] = 0, 0
    for name, acks in ACKS.items():
        for codec in CODECS_OF["kafka-python"]:
            producer = kafka.KafkaProducer(
                **COMMON,
                acks=acks,
                compression_type=None if codec == "none" else codec,
                enable_idempotence=name == "all",
            )
            value = text_of(codec, name).encode()
            producer.send(NAME, value, key=b"key", partition=0).get(DEADLINE_S)
            producer.close()
            RESULT["produced"] += 1


class Member(ConsumerRebalanceListener):  # type: ignore[misc]
    """A member of the group."""

    def __init__(self) -> None:
        self.held = 0
        self.values: list[str] = []
        self.consumer = kafka.KafkaConsumer(
            **COMMON,
            group_id=NAME,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=200,
        )
        self.consumer.subscribe([NAME], listener=self)

    def on_partitions_assigned(self, assigned: Iterable[object]) -> None:
        """Count those that are given."""
        self.held = len(list(assigned))

    def on_partitions_revoked(self, _: Iterable[object]) -> None:
        """Count none."""
        self.held = 0

    def poll(self) -> None:
        """Read for a moment."""
        for messages in self.consumer.poll(_POLL_MS).values():
            self.values += [message.value.decode() for message in messages]

    def commit(self) -> list[str]:
        """Commit what was read, and return it."""
        read, self.values = self.values, []
        self.consumer.commit()
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
    producer = kafka.KafkaProducer(**COMMON)
    producer.send(NAME, LATER.encode()).get(DEADLINE_S)
    producer.close()
    third = Member()
    until(lambda: bool(third.values), third)
    RESULT["shared"], RESULT["resumed"] = [2, 1, 1, 2], third.commit()
    third.consumer.close()


def transactions() -> None:
    """Commit, abort, commit, and read what is committed."""
    producer = kafka.KafkaProducer(**COMMON, transactional_id=NAME)
    producer.init_transactions()
    for value, is_committed in TRANSACTIONS.items():
        producer.begin_transaction()
        producer.send(NAME, value.encode(), partition=1).get(DEADLINE_S)
        offsets = {READ: OffsetAndMetadata(OFFSET_IN_A_TRANSACTION, "", -1)}
        producer.send_offsets_to_transaction(offsets, f"{NAME}-offsets")
        if is_committed:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    producer.close()
    RESULT["transactions"] = committed()


def committed() -> list[str]:
    """Read what is committed, up to the last transaction."""
    consumer = kafka.KafkaConsumer(**COMMON, isolation_level="read_committed")
    consumer.assign([READ])
    consumer.seek_to_beginning()
    end_s, values = monotonic() + DEADLINE_S, [LATER]
    while values[-1] != [*TRANSACTIONS][-1]:
        assert monotonic() < end_s, values
        for messages in consumer.poll(50).values():
            values += [message.value.decode() for message in messages]
    consumer.close()
    return [value for value in values if value != LATER]


def steady() -> None:
    """Write and read for a while, as a program does that sets nothing."""
    producer = kafka.KafkaProducer(**COMMON)
    consumer = kafka.KafkaConsumer(NAME, **COMMON, group_id=NAME)
    end_s = monotonic() + STEADY_S
    while monotonic() < end_s:
        producer.send(NAME, RECORD)
        consumer.poll(round(1000 * PACE_S))
    producer.close(DEADLINE_S)
    consumer.close()


stages = {"records": records, "groups": groups, "transactions": transactions, "steady": steady}
for stage in STAGES:
    stages[stage]()
sys.stdout.write(json.dumps(RESULT))
