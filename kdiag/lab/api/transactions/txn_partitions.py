"""The partitions of a Produce in a transaction: added to it, or verified to be in it (KIP-890).

    Produce 12 and later    the broker adds them: the producer has not said anything before
    Produce 3 to 11         the broker asks whether they are in the transaction

A partition in which the producer's transaction is open already is neither. Without this a record
that comes late, after its transaction ended, would begin one that nobody ends.

Source: Kafka's `ReplicaManager.maybeSendPartitionsToTransactionCoordinator`,
`AddPartitionsToTxnManager`.
"""

from collections.abc import Callable, Mapping
from struct import Struct
from typing import Final, NamedTuple

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.transactions.producer_errors import produced_code
from kdiag.lab.coordinator.transaction.add_partitions_manager import TransactionalProducer
from kdiag.lab.coordinator.transaction.marker_writer import MarkerCodes
from kdiag.lab.coordinator.transaction.transaction_metadata import TxnPartition
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.records.batch import MAGIC_2
from kdiag.wire.records.record import TRANSACTIONAL_BIT

FIRST_WITH_IMPLICIT_ADD: Final = 12

_ATTRIBUTES: Final = Struct(">h")
_MAGIC_START: Final = 16
_ATTRIBUTES_START: Final = 21
_PRODUCER: Final = Struct(">qh")
_PRODUCER_START: Final = 43

Records = Mapping[TopicPartitionOperationKey, bytes | memoryview]
Codes = dict[TopicPartitionOperationKey, int]


class BatchProducer(NamedTuple):
    """Who wrote a batch.

    Attributes:
        producer_id: of the producer; -1 without one.
        producer_epoch: likewise.
    """

    producer_id: int
    producer_epoch: int


def is_transactional(records: bytes | memoryview) -> bool:
    """Return whether a batch is part of a transaction; messages of magic 0 and 1 never are."""
    if records[_MAGIC_START] < MAGIC_2:
        return False
    (attributes,) = _ATTRIBUTES.unpack_from(records, _ATTRIBUTES_START)
    return bool(attributes & TRANSACTIONAL_BIT)


def producer_of(records: bytes | memoryview) -> BatchProducer:
    """Return who wrote a batch of magic 2."""
    return BatchProducer(*_PRODUCER.unpack_from(records, _PRODUCER_START))


def check_in_transaction(
    transactional_id: str | None, records: Records, call: ApiCall, respond: Callable[[Codes], None]
) -> None:
    """Tell which batches may not be appended: their partitions are not in their transaction.

    Args:
        transactional_id: of the request.
        records: what each partition is given.
        call: the Produce.
        respond: gets the error codes of those that may not, once, now or later.
    """
    written = {key: producer_of(each) for key, each in records.items() if is_transactional(each)}
    if not written:
        respond({})
        return
    producers = {*written.values()}
    if transactional_id is None or len(producers) > 1:
        why = "INVALID_TXN_STATE" if transactional_id is None else "INVALID_PRODUCER_ID_MAPPING"
        respond(dict.fromkeys(written, CODE_BY_NAME[why]))
        return
    (producer,) = producers
    keys = [key for key in written if not _is_open(key, producer, call)]
    if not keys:
        respond({})
        return
    partitions = {TxnPartition(key.topic, key.partition): key for key in keys}
    known = TransactionalProducer(transactional_id, *producer)

    def handle(codes: MarkerCodes) -> None:
        told = {partitions[each]: produced_code(code, call.version) for each, code in codes.items()}
        respond({key: code for key, code in told.items() if code})

    if call.version < FIRST_WITH_IMPLICIT_ADD:
        call.node.added_partitions.verify(known, partitions, handle)
    else:
        call.node.added_partitions.add(known, partitions, handle)


def _is_open(key: TopicPartitionOperationKey, producer: BatchProducer, call: ApiCall) -> bool:
    """Return whether the partition needs no question: it has the transaction, or does not exist."""
    partition = call.node.replicas.partitions.get(key)
    if partition is None or not partition.is_leader:
        return True  # the append says so
    entry = partition.log.producers.producers.get(producer.producer_id)
    return (
        entry is not None
        and entry.epoch == producer.producer_epoch
        and entry.transaction_first_offset is not None
    )
