"""A producer that writes numbered records while brokers come and go; librdkafka's, idempotent.

with SteadyWriter(bootstrap, "orders", partitions=3) as writer:
    ...
    writer.finish()                 # all that was handed over is written, acks=all
writer.values(2)                    # [b"2", b"5", b"8", ...]: what partition 2 holds, in order
writer.counts                       # {0: 12, 1: 12, 2: 11}; also after `widen(6)`
"""

from collections import Counter
from threading import Event, Thread
from typing import Any, Final, Self

from confluent_kafka import KafkaException, Producer

_FLUSH_S: Final = 120
_PAUSE_S: Final = 0.002


class SteadyWriter:
    """Writes to all partitions in turns until it is told to finish.

    Attributes:
        count: how many records there are so far.
        counts: how many there are in each partition.
        errors: why records were not written; empty if all is well.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.count = 0
        self.counts: Counter[int] = Counter()
        self.errors: list[str] = []
        self._topic = topic
        self._partitions = partitions
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 5,
                "message.timeout.ms": _FLUSH_S * 1000,
                "reconnect.backoff.max.ms": 500,
                "topic.metadata.refresh.interval.ms": 1000,
                "log_level": 0,
            }
        )
        self._is_over = Event()
        self._thread = Thread(target=self._write, daemon=True)

    def __enter__(self) -> Self:
        """Begin to write."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End, whatever was written."""
        self._is_over.set()
        self._thread.join()

    def finish(self) -> None:
        """Stop, once everything is written.

        Raises:
            RuntimeError: if something was not.
        """
        self._is_over.set()
        self._thread.join()
        left = self._producer.flush(_FLUSH_S)
        if left or self.errors:
            raise RuntimeError(f"{left} records were not written; {self.errors[:3]}")

    def widen(self, partitions: int) -> None:
        """Write to more partitions from now on; `values` is of no use then."""
        self._partitions = partitions

    def values(self, partition: int) -> list[bytes]:
        """Return what a partition holds."""
        return [b"%d" % n for n in range(partition, self.count, self._partitions)]

    def _write(self) -> None:
        while not self._is_over.is_set():
            partition = self.count % self._partitions
            try:
                self._producer.produce(
                    self._topic,
                    value=b"%d" % self.count,
                    partition=partition,
                    on_delivery=self._delivered,
                )
            except (BufferError, KafkaException):  # the latter of partitions that it hears of soon
                self._producer.poll(_PAUSE_S * 100)
                continue
            self.count += 1
            self.counts[partition] += 1
            self._producer.poll(_PAUSE_S)

    def _delivered(self, error: Any, _message: Any) -> None:
        if error is not None:
            self.errors.append(str(error))
