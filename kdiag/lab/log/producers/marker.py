"""Transaction markers: control batches of one record that commit or abort a transaction.

    key    int16 version (0), int16 type: 0 aborts, 1 commits
    value  int16 version (0), int32 epoch of the transaction coordinator that wrote it

The batch has the producer's id and epoch, no sequence, and takes an offset like any other.

Source: Kafka's `EndTransactionMarker`, `MemoryRecords.withEndTransactionMarker`.
"""

from struct import Struct
from typing import Final, NamedTuple

from kdiag.errors import DecodeError
from kdiag.lab.log.refusal import LogRefusedError
from kdiag.wire.internal.end_txn_marker import EndTxnMarker
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.internal import read_control_record
from kdiag.wire.records.record import BatchHeader, ControlType, Record, write_control_key
from kdiag.wire.records.writer import write_batch

VERSION: Final = 0
MAX_READ_BYTES: Final = 1 << 20

_VALUE: Final = Struct(">hi")


class TransactionMarker(NamedTuple):
    """A transaction marker.

    Attributes:
        control_type: ABORT or COMMIT.
        coordinator_epoch: of the coordinator that wrote it.
        timestamp: in milliseconds since 1970.
    """

    control_type: ControlType
    coordinator_epoch: int
    timestamp: int


def write_marker(marker: TransactionMarker, producer_id: int, producer_epoch: int) -> bytes:
    """Return the control batch that ends the transaction of a producer."""
    value = _VALUE.pack(VERSION, marker.coordinator_epoch)
    record = Record(0, marker.timestamp, write_control_key(marker.control_type), value)
    header = BatchHeader(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )
    return write_batch([record], header)


def read_marker(batch: RecordBatch) -> TransactionMarker | None:
    """Return the marker in a control batch; None if it is a control batch of another kind.

    Raises:
        LogRefusedError: if the batch is unreadable.
    """
    try:
        records = batch.records(max_bytes=MAX_READ_BYTES)
    except DecodeError as error:
        raise LogRefusedError("CORRUPT_MESSAGE", f"a control batch: {error}") from None
    if not records:
        return None
    control_type, value = read_control_record(records[0])
    if control_type not in {ControlType.ABORT, ControlType.COMMIT}:
        return None
    if value is None or not isinstance(value.message, EndTxnMarker):
        raise LogRefusedError("INVALID_RECORD", f"a marker {control_type.name} without its value")
    return TransactionMarker(control_type, value.message.coordinator_epoch, records[0].timestamp)
