"""Clients of librdkafka that write numbers and read them, and know what was acknowledged.

with NumberWriter(bootstrap, is_idempotent=True) as writer:
    ...                          brokers end and begin
    writer.finish()              every number is acknowledged
check_numbers(bootstrap, writer)     and is there
"""

import sys
from collections import Counter
from contextlib import suppress
from threading import Event, Thread
from time import monotonic
from typing import Final, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

PARTITIONS: Final = 3
DEADLINE_S: Final = 60
TOPIC: Final = "numbers"
RETRIED: Final = {
    "retry.backoff.max.ms": 100,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 50,
    "log_level": 0,
}


class NumberWriter:
    """Writes one number after another, in a thread, and notes which were acknowledged.

    Attributes:
        acked: how often each number was.
    """

    def __init__(self, bootstrap: str, *, is_idempotent: bool) -> None:
        self._producer = Producer(
            {
                **RETRIED,
                "bootstrap.servers": bootstrap,
                "enable.idempotence": is_idempotent,
                "acks": "all",
                "linger.ms": 1,
                "message.timeout.ms": 0,
                "error_cb": self._note,
            }
        )
        self._prefix = "once" if is_idempotent else "again"
        self._is_over = Event()
        self._thread = Thread(target=self._write)
        self.acked: Counter[str] = Counter()
        self.fatal: list[str] = []

    def __enter__(self) -> Self:
        """Begin to write."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Write no more."""
        self._is_over.set()
        self._thread.join()

    def finish(self) -> None:
        """Write no more, and wait until all is acknowledged."""
        self.__exit__()
        assert self._producer.flush(DEADLINE_S) == 0
        assert self.fatal == []

    def _write(self) -> None:
        number = 0
        while not self._is_over.is_set():
            if len(self._producer) < 500:
                value = f"{self._prefix} {number}"
                self._producer.produce(
                    TOPIC, value, partition=number % PARTITIONS, on_delivery=self._acknowledge
                )
                number += 1
            self._producer.poll(0 if number % 50 else 0.01)

    def _acknowledge(self, error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        self.acked[(message.value() or b"").decode()] += 1

    def _note(self, error: KafkaError) -> None:
        if error.fatal():
            self.fatal.append(str(error))


class CommittingReader:
    """A member of a group that commits what it has read.

    Attributes:
        committed: the offset of each partition that the coordinator has acknowledged.
    """

    def __init__(self, bootstrap: str) -> None:
        self.consumer = Consumer(
            {
                **RETRIED,
                "bootstrap.servers": bootstrap,
                "group.id": "readers",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "enable.partition.eof": False,
            }
        )
        self.consumer.subscribe([TOPIC])
        self.committed: dict[int, int] = {}

    def commit_more(self, count: int) -> None:
        """Read records, and commit them, until so many commits were acknowledged."""
        until_s = monotonic() + DEADLINE_S
        while count:
            assert monotonic() < until_s
            if not self.consumer.consume(200, 0.1):
                continue
            with suppress(KafkaException):  # refused while the group settles after a start: read on
                for place in self.consumer.commit(asynchronous=False) or ():
                    if place.error is None and place.offset >= 0:
                        self.committed[place.partition] = place.offset
                count -= 1

    def forgotten(self) -> dict[int, int]:
        """Return which offsets of those committed the coordinator does not know any more."""
        places = [TopicPartition(TOPIC, number) for number in self.committed]
        known = self.consumer.committed(places, DEADLINE_S) if places else []
        return {
            place.partition: place.offset
            for place in known
            if place.error is not None or place.offset < self.committed[place.partition]
        }


def read_all(bootstrap: str) -> dict[int, list[str]]:
    """Return the values of each partition in their order, to the ends."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "judge", "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)])
    found: dict[int, list[str]] = {number: [] for number in range(PARTITIONS)}
    waiting = set(found)
    while waiting:
        message = consumer.poll(DEADLINE_S)
        assert message is not None
        number = message.partition()
        assert number is not None
        if (error := message.error()) is None:
            found[number].append((message.value() or b"").decode())
        else:
            assert error.code() == KafkaError._PARTITION_EOF
            waiting.discard(number)
    consumer.close()
    return found


def check_numbers(bootstrap: str, once: NumberWriter, again: NumberWriter) -> None:
    """Check that all that was acknowledged is there.

    Args:
        bootstrap: the lab.
        once: an idempotent writer: its numbers are there once, and in order.
        again: another one.
    """
    found = read_all(bootstrap)
    values = Counter(value for each in found.values() for value in each)
    assert not (once.acked + again.acked).keys() - values.keys()
    assert {value: count for value, count in values.items() if value[0] == "o" and count > 1} == {}
    for read in found.values():
        numbers = [int(value.split()[1]) for value in read if value.startswith("once")]
        assert numbers == sorted(numbers)
    doubled = sum(count - 1 for count in values.values())
    sys.stdout.write(
        f"acknowledged: {len(once.acked)} numbers of an idempotent producer, {len(again.acked)} of"
        f" another; lost: none; in the log: {values.total()}, {doubled} of them again\n"
    )
