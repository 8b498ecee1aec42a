"""What aiokafka does with a cluster, for tests. Usage: BOOTSTRAP NAME STAGE..."""

import asyncio
import json
import sys
from collections.abc import Callable
from time import monotonic
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.structs import TopicPartition

from foreign_clients.judged import (
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
COMMON: Final[dict[str, Any]] = {"bootstrap_servers": BOOTSTRAP}
ACKS: Final[dict[str, Any]] = {"all": "all", "1": 1, "0": 0}
RESULT: Final[dict[str, Any]] = {}
READ: Final = TopicPartition(NAME, 1)


async def records() -> None:
    """Create a topic, and produce."""
    admin = AIOKafkaAdminClient(**COMMON)
    await admin.start()
    await admin.create_topics([NewTopic(NAME, 2, 1)])
    await admin.close()
    RESULT["created"], RESULT["produced"] = 0, 0
    for name, acks in ACKS.items():
        for codec in CODECS:
            producer = AIOKafkaProducer(
                **COMMON,
                acks=acks,
                compression_type=None if codec == "none" else codec,
                enable_idempotence=name == "all",
            )
            async with producer:
                value = text_of(codec, name).encode()
                await producer.send_and_wait(NAME, value, key=b"key", partition=0)
            RESULT["produced"] += 1


class Member(ConsumerRebalanceListener):  # type: ignore[misc]
    """A member of the group."""

    def __init__(self) -> None:
        self.held = 0
        self.values: list[str] = []
        self.consumer = AIOKafkaConsumer(
            **COMMON,
            group_id=NAME,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=200,
        )

    async def join(self) -> "Member":
        """Join."""
        self.consumer.subscribe([NAME], listener=self)
        await self.consumer.start()
        return self

    async def on_partitions_assigned(self, assigned: set[object]) -> None:
        """Count those that are given."""
        self.held = len(assigned)

    async def on_partitions_revoked(self, _: set[object]) -> None:
        """Count none."""
        self.held = 0

    async def poll(self) -> None:
        """Read for a moment."""
        for messages in (await self.consumer.getmany(timeout_ms=50)).values():
            self.values += [message.value.decode() for message in messages]

    async def commit(self) -> list[str]:
        """Commit what was read, and return it."""
        read, self.values = self.values, []
        await self.consumer.commit()
        return read


async def until(condition: Callable[[], bool], *members: Member) -> None:
    """Have members read until something holds."""
    end_s = monotonic() + DEADLINE_S
    while not condition():
        assert monotonic() < end_s, [(each.held, each.values) for each in members]
        for each in members:
            await each.poll()


async def groups() -> None:
    """Share the topic, leave, and go on later."""
    first = await Member().join()
    await until(lambda: first.held == 2 and len(first.values) >= RESULT["produced"], first)
    await first.commit()
    second = await Member().join()
    await until(lambda: first.held == second.held == 1, first, second)
    await second.consumer.stop()
    await until(lambda: first.held == 2, first)
    await first.consumer.stop()
    async with AIOKafkaProducer(**COMMON) as producer:
        await producer.send_and_wait(NAME, LATER.encode())
    third = await Member().join()
    await until(lambda: bool(third.values), third)
    RESULT["shared"], RESULT["resumed"] = [2, 1, 1, 2], await third.commit()
    await third.consumer.stop()


async def transactions() -> None:
    """Commit, abort, commit, and read what is committed."""
    async with AIOKafkaProducer(**COMMON, transactional_id=NAME) as producer:
        for value, is_committed in TRANSACTIONS.items():
            await producer.begin_transaction()
            await producer.send_and_wait(NAME, value.encode(), partition=1)
            offsets = {READ: OFFSET_IN_A_TRANSACTION}
            await producer.send_offsets_to_transaction(offsets, f"{NAME}-offsets")
            if is_committed:
                await producer.commit_transaction()
            else:
                await producer.abort_transaction()
    RESULT["transactions"] = await committed()


async def committed() -> list[str]:
    """Read what is committed, up to the last transaction."""
    consumer = AIOKafkaConsumer(**COMMON, isolation_level="read_committed")
    consumer.assign([READ])
    end_s, values = monotonic() + DEADLINE_S, [LATER]
    async with consumer:
        await consumer.seek_to_beginning()
        while values[-1] != [*TRANSACTIONS][-1]:
            assert monotonic() < end_s, values
            for messages in (await consumer.getmany(timeout_ms=50)).values():
                values += [message.value.decode() for message in messages]
    return [value for value in values if value != LATER]


async def steady() -> None:
    """Write and read for a while, as a program does that sets nothing."""
    end_s = monotonic() + STEADY_S
    producer = AIOKafkaProducer(**COMMON)
    consumer = AIOKafkaConsumer(NAME, **COMMON, group_id=NAME)
    async with producer, consumer:
        while monotonic() < end_s:
            await producer.send(NAME, RECORD)
            await consumer.getmany(timeout_ms=round(1000 * PACE_S))


async def main() -> None:
    """Do what is asked for."""
    stages = {"records": records, "groups": groups, "transactions": transactions, "steady": steady}
    for stage in STAGES:
        await stages[stage]()


asyncio.run(main())
sys.stdout.write(json.dumps(RESULT))
