"""The transactional ids of one partition of `__transaction_state`, made again from its records.

    record_of("payments", now)      TransactionLogKey, TransactionLogValue in version 1
    shard.replay(record, origin)    the last record of each id counts; a tombstone forgets it

When the partition is read to the end, what was prepared is completed: `on_loaded` hears of the
shard. When another node leads the partition, `on_unloaded` does.

Source: Kafka's `TransactionLog`, `TransactionStateManager.loadTransactionMetadata`.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kdiag.lab.coordinator.runtime.coordinator_record import CoordinatorRecord, RecordOrigin
from kdiag.lab.coordinator.transaction.transaction_metadata import (
    TransactionMetadata,
    TxnPartition,
    TxnTransitMetadata,
)
from kdiag.lab.coordinator.transaction.transaction_state import TransactionState
from kdiag.wire.internal.transaction_log import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)

if TYPE_CHECKING:
    from kdiag.wire.records.internal import InternalRecord

VALUE_VERSION: Final = 1


def record_of(transactional_id: str, now: TxnTransitMetadata) -> CoordinatorRecord:
    """Return the record that says what an id is now."""
    topics = defaultdict(list)
    for topic, partition in sorted(now.partitions):
        topics[topic].append(partition)
    value = TransactionLogValue(
        producer_id=now.producer_id,
        previous_producer_id=now.previous_producer_id,
        next_producer_id=now.next_producer_id,
        producer_epoch=now.producer_epoch,
        transaction_timeout_ms=now.timeout_ms,
        transaction_status=now.state,
        # As in Kafka: null where there can be none.
        transaction_partitions=None
        if now.state is TransactionState.EMPTY
        else [
            PartitionsSchema(topic=topic, partition_ids=numbers)
            for topic, numbers in topics.items()
        ],
        transaction_last_update_timestamp_ms=now.update_ms,
        transaction_start_timestamp_ms=now.start_ms,
        client_transaction_version=now.client_version,
    )
    key = TransactionLogKey(transactional_id=transactional_id)
    return CoordinatorRecord(key, value, VALUE_VERSION)


def tombstone_of(transactional_id: str) -> CoordinatorRecord:
    """Return the record that forgets an id."""
    return CoordinatorRecord(TransactionLogKey(transactional_id=transactional_id), None)


def read_value(value: TransactionLogValue) -> TxnTransitMetadata:
    """Return what a record says of an id.

    Raises:
        ValueError: if it has a state that there is not.
    """
    return TxnTransitMetadata(
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=TransactionState(value.transaction_status),
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        partitions=frozenset(
            TxnPartition(each.topic, number)
            for each in value.transaction_partitions or ()
            for number in each.partition_ids
        ),
        start_ms=value.transaction_start_timestamp_ms,
        update_ms=value.transaction_last_update_timestamp_ms,
        client_version=value.client_transaction_version,
    )


class TransactionShard:
    """The transactional ids of a partition.

    Attributes:
        partition: its number.
        transactions: by transactional id.
    """

    def __init__(
        self,
        partition: int,
        on_loaded: Callable[["TransactionShard"], None],
        on_unloaded: Callable[["TransactionShard"], None],
    ) -> None:
        """Begin without ids.

        Args:
            partition: its number.
            on_loaded: hears when all records were replayed.
            on_unloaded: hears when it coordinates no longer.
        """
        self.partition = partition
        self.transactions: dict[str, TransactionMetadata] = {}
        self._on_loaded = on_loaded
        self._on_unloaded = on_unloaded

    def __repr__(self) -> str:
        return f"<TransactionShard {self.partition}: {len(self.transactions)} ids>"

    def replay(self, record: "InternalRecord", origin: RecordOrigin) -> None:
        """Apply a record."""
        del origin
        if record.key is None:
            return
        transactional_id = record.key.message.transactional_id
        if record.value is None:
            self.transactions.pop(transactional_id, None)
            return
        now = read_value(record.value.message)
        self.transactions[transactional_id] = TransactionMetadata(transactional_id, now)

    def replay_end_transaction(
        self, producer_id: int, producer_epoch: int, *, is_commit: bool
    ) -> None:
        """Pass over a marker: this topic has no transactions of its own."""

    def handle_loaded(self) -> None:
        """Begin to coordinate."""
        self._on_loaded(self)

    def handle_unloaded(self) -> None:
        """Stop."""
        self._on_unloaded(self)
