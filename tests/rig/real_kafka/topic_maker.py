"""Topics of every kind on a real broker: transactions, compaction, codecs, large records.

Producers are librdkafka's.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from real_kafka.topic_changes import await_topic

_TIMEOUT_S: Final = 60
Keyed = tuple[bytes | None, bytes | None]


def create(
    bootstrap: str,
    topic: str,
    partitions: int = 1,
    replication: int = 1,
    config: Mapping[str, str] | None = None,
) -> None:
    """Create a topic, and wait until each broker knows it: until then some refuse it."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    new = NewTopic(topic, partitions, replication, config=dict(config or {}))
    for created in admin.create_topics([new]).values():
        created.result(_TIMEOUT_S)
    await_topic(bootstrap, topic, partitions)


def delete(bootstrap: str, topic: str) -> None:
    """Delete a topic."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for deleted in admin.delete_topics([topic]).values():
        deleted.result(_TIMEOUT_S)


def producer(bootstrap: str, **settings: Any) -> Producer:
    """Return a producer; names have underscores for dots."""
    options = {key.replace("_", "."): value for key, value in settings.items()}
    return Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, **options})


def produce(
    bootstrap: str, topic: str, records: Iterable[Keyed], partition: int = -1, **settings: Any
) -> None:
    """Produce records and wait until all are written."""
    sender = producer(bootstrap, **settings)
    send(sender, topic, records, partition)
    finish(sender)


def send(
    sender: Producer,
    topic: str,
    records: Iterable[Keyed],
    partition: int = -1,
    headers: Sequence[tuple[str, bytes | None]] = (),
) -> None:
    """Hand records to a producer."""
    for key, value in records:
        sender.produce(
            topic,
            key=key,
            value=value,
            partition=partition,
            headers=list(headers),
            on_delivery=_must_succeed,
        )
        sender.poll(0)


def finish(sender: Producer) -> None:
    """Wait until everything is written."""
    left = sender.flush(_TIMEOUT_S)
    if left:
        raise RuntimeError(f"{left} records were not written")


def transact(
    bootstrap: str, topic: str, transactional_id: str, rounds: Sequence[tuple[int, bool]]
) -> None:
    """Write transactions to partition 0: so many records each, committed or aborted."""
    sender = producer(bootstrap, transactional_id=transactional_id)
    sender.init_transactions(_TIMEOUT_S)
    for number, (count, is_committed) in enumerate(rounds):
        sender.begin_transaction()
        verb = "kept" if is_committed else "lost"
        values = [(b"k", f"{transactional_id} {number} {verb} {n}".encode()) for n in range(count)]
        for key, value in values:
            sender.produce(topic, key=key, value=value, partition=0)
        finish(sender)
        if is_committed:
            sender.commit_transaction(_TIMEOUT_S)
        else:
            sender.abort_transaction(_TIMEOUT_S)


def open_transaction(bootstrap: str, topic: str, transactional_id: str, count: int) -> Producer:
    """Write records in a transaction that stays open while the producer lives."""
    sender = producer(bootstrap, transactional_id=transactional_id)
    sender.init_transactions(_TIMEOUT_S)
    sender.begin_transaction()
    for n in range(count):
        sender.produce(topic, value=f"open {n}".encode(), partition=0)
    finish(sender)
    return sender


def _must_succeed(error: Any, _message: Any) -> None:
    if error is not None:
        raise RuntimeError(str(error))
