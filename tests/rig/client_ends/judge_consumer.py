"""librdkafka as judge: what a topic holds, record for record."""

from typing import Any, Final, NamedTuple

from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    TopicPartition,
)

_TIMEOUT_S: Final = 60
_HUNDRED_MB: Final = 100_000_000


class JudgedRecord(NamedTuple):
    """A record as a consumer hands it out."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def judged(bootstrap: str, topic: str, isolation: str = "read_committed") -> list[JudgedRecord]:
    """Return all records of a topic by partition and offset, as far as they may be read."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "judge",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
            "fetch.message.max.bytes": _HUNDRED_MB,
            "check.crcs": True,
        }
    )
    try:
        found = consumer.list_topics(topic, _TIMEOUT_S).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in found])
        return sorted(_read(consumer, set(found)), key=lambda record: record[:2])
    finally:
        consumer.close()


def _read(consumer: Consumer, open_partitions: set[int]) -> list[JudgedRecord]:
    """Return records until every partition has come to its end."""
    records = []
    while open_partitions:
        message = consumer.poll(_TIMEOUT_S)
        if message is None:
            raise RuntimeError(f"the judge waits for partitions {open_partitions}")
        error = message.error()
        if error is None:
            records.append(_record(message))
        elif error.code() == KafkaError._PARTITION_EOF:
            open_partitions.discard(message.partition())
        else:
            raise RuntimeError(str(error))
    return records


def _record(message: Any) -> JudgedRecord:
    kind, timestamp = message.timestamp()
    return JudgedRecord(
        message.partition(),
        message.offset(),
        -1 if kind == TIMESTAMP_NOT_AVAILABLE else timestamp,
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
    )
