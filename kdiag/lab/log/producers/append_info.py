"""What an append would change for one producer: checked batch by batch, kept only if all are right.

Sequence numbers are checked only for clients: a replica writes what its leader accepted, and a log
that is read again after a crash was accepted before. A replica also takes an old epoch: the leader
took it.

Source: Kafka's `ProducerAppendInfo`; KIP-98, KIP-360.
"""

from enum import Enum, auto
from typing import NamedTuple

import msgspec

from kdiag.lab.log.producers.entry import (
    NO_EPOCH,
    NO_SEQUENCE,
    BatchMetadata,
    ProducerStateEntry,
)
from kdiag.lab.log.producers.marker import read_marker
from kdiag.lab.log.refusal import LogRefusedError
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.record import ControlType

_INT32_MAX = (1 << 31) - 1


class AppendOrigin(Enum):
    """Who appends; it decides on what is checked."""

    CLIENT = auto()
    COORDINATOR = auto()
    """A coordinator of this node: records of its topic, or markers."""
    REPLICATION = auto()
    """A leader, or the log itself when it is read again."""


class CompletedTransaction(NamedTuple):
    """A transaction that a marker ended.

    Attributes:
        producer_id: its producer.
        first_offset: its first record.
        last_offset: the marker.
        is_aborted: whether it is to be left out.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ProducerAppendInfo:
    """The state of a producer as it would be after an append.

    Attributes:
        updated: that state.
        started_offset: the first offset of the transaction that the append began, if it did.
    """

    def __init__(self, entry: ProducerStateEntry, origin: AppendOrigin) -> None:
        """Begin with the state as it is."""
        self._current = entry
        self._origin = origin
        self.updated = msgspec.structs.replace(entry, batches=[])
        self.started_offset: int | None = None

    def append(self, batch: RecordBatch) -> CompletedTransaction | None:
        """Record a batch, and return the transaction that it ended.

        Raises:
            LogRefusedError: if its epoch or sequence is wrong.
        """
        if batch.is_control:
            return self._append_marker(batch)
        first = batch.base_offset
        self._check_epoch(batch.producer_epoch, first)
        if self._origin is AppendOrigin.CLIENT:
            self._check_sequence(batch.producer_epoch, batch.base_sequence)
        metadata = BatchMetadata(
            batch.last_sequence, batch.last_offset, batch.last_offset - first, batch.max_timestamp
        )
        self.updated.add_batch(batch.producer_epoch, metadata)
        is_open = self.updated.transaction_first_offset is not None
        if is_open and not batch.is_transactional:
            why = f"producer {batch.producer_id} has an open transaction, the batch is not in it"
            raise LogRefusedError("INVALID_TXN_STATE", why)
        if batch.is_transactional and not is_open:
            self.updated.transaction_first_offset = self.started_offset = first
        return None

    def _append_marker(self, batch: RecordBatch) -> CompletedTransaction | None:
        read = read_marker(batch)
        if read is None:
            return None
        control, coordinator_epoch = read.control_type, read.coordinator_epoch
        self._check_epoch(batch.producer_epoch, batch.base_offset)
        known = self.updated.coordinator_epoch
        if known > coordinator_epoch and self._origin is not AppendOrigin.REPLICATION:
            why = f"coordinator epoch {coordinator_epoch}, {known} wrote before"
            raise LogRefusedError("TRANSACTION_COORDINATOR_FENCED", why)
        first = self.updated.transaction_first_offset
        self.updated.update_epoch(batch.producer_epoch)
        self.updated.coordinator_epoch = coordinator_epoch
        self.updated.transaction_first_offset = None
        self.updated.last_timestamp = read.timestamp
        if first is None:
            return None
        is_aborted = control is ControlType.ABORT
        return CompletedTransaction(batch.producer_id, first, batch.base_offset, is_aborted)

    def _check_epoch(self, epoch: int, offset: int) -> None:
        if epoch < self.updated.epoch and self._origin is not AppendOrigin.REPLICATION:
            why = (
                f"producer {self.updated.producer_id} wrote epoch {epoch} at offset {offset},"
                f" after epoch {self.updated.epoch}"
            )
            raise LogRefusedError("INVALID_PRODUCER_EPOCH", why)

    def _check_sequence(self, epoch: int, sequence: int) -> None:
        producer = self.updated.producer_id
        if epoch != self.updated.epoch:
            if sequence and self.updated.epoch != NO_EPOCH:
                why = f"producer {producer} begins epoch {epoch} with sequence {sequence}, not 0"
                raise LogRefusedError("OUT_OF_ORDER_SEQUENCE_NUMBER", why)
            return
        if self.updated.batches:
            last = self.updated.last_sequence
        elif epoch == self._current.epoch:
            last = self._current.last_sequence
        else:
            last = NO_SEQUENCE
        if self._current.epoch != NO_EPOCH and not _follows(last, sequence):
            why = f"producer {producer} wrote sequence {sequence} after {last}"
            raise LogRefusedError("OUT_OF_ORDER_SEQUENCE_NUMBER", why)


def _follows(last: int, sequence: int) -> bool:
    return sequence == last + 1 or (sequence == 0 and last == _INT32_MAX)
