"""A client of librdkafka's that moves bytes: a program, to run anywhere and to be stopped.

    python load_client.py produce BOOTSTRAP TOPIC BYTES setting=value ...
    python load_client.py consume BOOTSTRAP TOPIC BYTES setting=value ...

`produce` makes the topic if there is none and writes incompressible records of 10 kB; `consume`
reads from the beginning. Each says `begun` once it is under way, and ends after so many bytes.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

PROGRAM = Path(__file__)

_RECORD_BYTES = 10_000
_TIMEOUT_S = 60


def produce(bootstrap: str, topic: str, size: int, settings: dict[str, Any]) -> None:
    """Write so many bytes."""
    create(bootstrap, topic)
    value = os.urandom(_RECORD_BYTES)
    waiting = {"queue.buffering.max.messages": 1_000_000, "linger.ms": 20}
    producer = Producer({"bootstrap.servers": bootstrap, **waiting, **settings})
    begun()
    for _ in range(size // _RECORD_BYTES):
        producer.produce(topic, value, partition=0)
    if producer.flush(_TIMEOUT_S):
        raise RuntimeError("not everything was written")


def create(bootstrap: str, topic: str) -> None:
    """Make the topic if there is none."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    with suppress(KafkaException):  # it is there
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(_TIMEOUT_S)


def consume(bootstrap: str, topic: str, size: int, settings: dict[str, Any]) -> None:
    """Read so many bytes."""
    group = {"group.id": "load", "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": bootstrap, **group, **settings})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    begun()
    while size > 0:
        for message in consumer.consume(100, _TIMEOUT_S):
            size -= len(message.value() or b"")
    consumer.close()


def begun() -> None:
    """Say that it is under way."""
    sys.stdout.write("begun\n")
    sys.stdout.flush()


def main() -> None:
    """Run the program."""
    verb, bootstrap, topic, size, *settings = sys.argv[1:]
    do = {"produce": produce, "consume": consume}[verb]
    do(bootstrap, topic, int(size), dict(each.split("=", 1) for each in settings))


if __name__ == "__main__":
    main()
