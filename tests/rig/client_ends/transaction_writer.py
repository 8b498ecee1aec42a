"""A producer that writes one transaction after the other while brokers come and go.

with TransactionWriter(bootstrap, "orders", partitions=3) as writer:
    ...
    writer.finish()

Every third transaction is aborted, and so are those that a dying broker has broken: what came of
each only the cluster knows. librdkafka's.
"""

from threading import Event, Thread
from typing import Final, Self

from confluent_kafka import KafkaException, Producer

_TIMEOUT_S: Final = 60
_RECORDS: Final = 6


class TransactionWriter:
    """Writes until it is told to finish.

    Attributes:
        committed, aborted: how many transactions ended so.
        failure: why it gave up; None if it did not.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.committed = 0
        self.aborted = 0
        self.failure: str | None = None
        self._topic = topic
        self._partitions = partitions
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": f"writer-of-{topic}",
                "transaction.timeout.ms": _TIMEOUT_S * 1000,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self._is_over = Event()
        self._thread = Thread(target=self._write, daemon=True)

    def __enter__(self) -> Self:
        """Begin to write."""
        self._producer.init_transactions(_TIMEOUT_S)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End after the current transaction."""
        self._is_over.set()
        self._thread.join()

    def finish(self) -> None:
        """End after the current transaction.

        Raises:
            RuntimeError: if a transaction could be neither committed nor aborted.
        """
        self.__exit__()
        if self.failure is not None:
            raise RuntimeError(self.failure)

    def _write(self) -> None:
        try:
            while not self._is_over.is_set():
                self._transact(self.committed + self.aborted)
        except KafkaException as error:
            self.failure = str(error)

    def _transact(self, number: int) -> None:
        self._producer.begin_transaction()
        for n in range(_RECORDS):
            value = b"%d of transaction %d" % (n, number)
            self._producer.produce(self._topic, value=value, partition=n % self._partitions)
        if number % 3 == 0:
            self._producer.flush(_TIMEOUT_S)  # else nothing of it is ever sent
        if number % 3 == 0 or not self._commit():
            self._producer.abort_transaction(_TIMEOUT_S)
            self.aborted += 1
        else:
            self.committed += 1

    def _commit(self) -> bool:
        """Return whether the transaction could be committed; else it must be aborted."""
        while True:
            try:
                self._producer.commit_transaction(_TIMEOUT_S)
            except KafkaException as error:
                if error.args[0].retriable():
                    continue
                if error.args[0].txn_requires_abort():
                    return False
                raise
            return True
