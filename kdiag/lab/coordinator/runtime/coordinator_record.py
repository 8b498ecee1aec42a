"""Records of a coordinator: a key and a value, as Kafka writes them into its topic.

    CoordinatorRecord(OffsetCommitKey(group="billing", topic="orders"), OffsetCommitValue(offset=5))
    key      00 01, the record type, and the key in version 0
    value    00 03, its version, and the value in it; no value is a tombstone

Each append is one batch. Those of a transaction carry its producer and no sequence.

Source: Kafka's `CoordinatorRecord`, `CoordinatorRecordSerde`, `CoordinatorPartitionWriter`.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kdiag.wire.codec.messages import encode
from kdiag.wire.record_catalog import COORDINATOR_RECORDS
from kdiag.wire.records.internal import InternalRecord, VersionedMessage
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch
from kdiag.wire.schema import Struct

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1

_INT16_BYTES: Final = 2

_RECORD_TYPES: Final[Mapping[str, int]] = {
    name: record_type
    for records in COORDINATOR_RECORDS.values()
    for record_type, name in records.items()
}


class CoordinatorRecord(NamedTuple):
    """A record that a coordinator writes.

    Attributes:
        key: its key.
        value: its value; None for a tombstone.
        value_version: the version in which the value is written.
    """

    key: Struct
    value: Struct | None
    value_version: int = 0

    @property
    def type(self) -> str:
        """Return Kafka's name of the record, such as `OffsetCommit`."""
        return type(self.key).__name__.removesuffix("Key")

    def as_internal(self) -> InternalRecord:
        """Return the record as one that was read."""
        value = self.value
        return InternalRecord(
            self.type,
            VersionedMessage(self.key, 0),
            None if value is None else VersionedMessage(value, self.value_version),
        )


class RecordOrigin(NamedTuple):
    """Where a record is, and whose.

    Attributes:
        offset: in its partition.
        producer_id: of the transaction that it is part of, or NO_PRODUCER_ID.
        producer_epoch: likewise.
    """

    offset: int
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


def write_records(
    records: Sequence[CoordinatorRecord],
    timestamp_ms: int,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
) -> bytes:
    """Return records as a batch.

    Args:
        records: at least one.
        timestamp_ms: of all of them.
        producer_id: of the transaction that they are part of.
        producer_epoch: likewise.

    Raises:
        EncodeError: if a value does not fit its field.
    """
    header = BatchHeader(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=producer_id != NO_PRODUCER_ID,
    )
    return write_batch(
        [_written(record, offset, timestamp_ms) for offset, record in enumerate(records)], header
    )


def _written(record: CoordinatorRecord, offset: int, timestamp_ms: int) -> Record:
    record_type = _RECORD_TYPES[record.type].to_bytes(_INT16_BYTES, signed=True)
    value = None
    if record.value is not None:
        version = record.value_version.to_bytes(_INT16_BYTES, signed=True)
        value = version + encode(record.value, record.value_version)
    return Record(offset, timestamp_ms, record_type + encode(record.key, 0), value)
