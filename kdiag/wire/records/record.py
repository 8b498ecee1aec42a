"""Records, and the header of the batch that a writer puts them into."""

import struct
from enum import IntEnum, StrEnum
from typing import Final

import msgspec

from kdiag.errors import DecodeError

Header = tuple[bytes, bytes | None]
"""The key and the value of a record header; the key is UTF-8 if its writer follows the rules."""

NO_TIMESTAMP: Final = -1

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40

RECORD_COST_BYTES: Final = 210
"""The measured memory of a record without the bytes of its key and value."""

HEADER_COST_BYTES: Final = 135
"""The measured memory of a record header without the bytes of its key and value."""

_TWO_INT16: Final = struct.Struct(">hh")


class TimestampType(StrEnum):
    """The meaning of a batch's timestamps; the texts are those of Kafka's `TimestampType`."""

    NO_TIMESTAMP_TYPE = "NoTimestampType"
    """Magic 0: there is none, and -1 stands for it."""
    CREATE_TIME = "CreateTime"
    """The time at which the producer made the record."""
    LOG_APPEND_TIME = "LogAppendTime"
    """The time at which the broker appended the batch, the same for all its records."""


class ControlType(IntEnum):
    """The types of control records, with the names and numbers of Kafka's `ControlRecordType`."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class Record(msgspec.Struct, gc=False):
    """One record.

    Attributes:
        offset: its offset in the partition; in a Produce request relative to the batch's.
        timestamp: milliseconds since 1970, or -1.
        key: null is None.
        value: null, a tombstone of a compacted topic, is None.
        headers: in the order of the wire; magic 0 and 1 have none.
    """

    offset: int
    timestamp: int = NO_TIMESTAMP
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[Header, ...] = ()


class BatchHeader(msgspec.Struct, kw_only=True, frozen=True):
    """The header fields of a batch, for `kdiag.wire.records.batches.write_batch`.

    A field that is None is computed from the records: first and last offset, first and largest
    timestamp; 0 and -1 without records.

    Attributes:
        magic: 2, or 0 and 1 for message sets; these have only the compression, the timestamp
            type (magic 1), the base offset and the largest timestamp.
        compression: a name of `kdiag.wire.records.compression.CODECS`.
        compression_form: a name of `kdiag.wire.records.compression.FORMS`; empty for Java's.
        base_offset: of the batch; compaction may have removed the record that had it.
        last_offset: likewise.
        base_timestamp: the base of record timestamps; the delete horizon if there is one.
        max_timestamp: with LogAppendTime, the timestamp of every record.
        timestamp_type: of the record timestamps.
        producer_id: -1 unless the producer is idempotent.
        producer_epoch: likewise.
        base_sequence: likewise.
        partition_leader_epoch: set by the broker; -1 in Produce requests.
        is_transactional: whether the batch is part of a transaction.
        is_control: whether its records are control records.
        has_delete_horizon: whether `base_timestamp` is the delete horizon (KIP-534).
    """

    magic: int = 2
    compression: str = "none"
    compression_form: str = ""
    base_offset: int | None = None
    last_offset: int | None = None
    base_timestamp: int | None = None
    max_timestamp: int | None = None
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    partition_leader_epoch: int = -1
    is_transactional: bool = False
    is_control: bool = False
    has_delete_horizon: bool = False


def read_control_type(key: bytes | None) -> ControlType:
    """Return the type of a control record, given its key: int16 version, int16 type.

    Raises:
        DecodeError: if the key is shorter, or the version negative.
    """
    if key is None or len(key) < _TWO_INT16.size:
        size = "null" if key is None else f"{len(key)} bytes"
        raise DecodeError("key", 0, f"a control record's key has 4 bytes, not {size}")
    version, number = _TWO_INT16.unpack_from(key)
    if version < 0:
        raise DecodeError("key", 0, f"version {version} of a control record")
    try:
        return ControlType(number)
    except ValueError:
        return ControlType.UNKNOWN


def write_control_key(control_type: ControlType) -> bytes:
    """Return the key of a control record, in version 0."""
    return _TWO_INT16.pack(0, control_type)


def int64(value: int) -> int:
    """Return a number wrapped into 64 signed bits, as in Java's addition."""
    return (value + (1 << 63) & (1 << 64) - 1) - (1 << 63)
