"""Record batches: the contents of the `records` fields of Produce and Fetch, and of the log.

Theory of operation. A `records` field is batches in a row. `read_batches` reads their headers only,
about a microsecond each; a `RecordBatch` keeps the bytes and reads its records on demand:

    batches, trailing_bytes = read_batches(partition.records)
    for batch in batches:
        batch.record_count, batch.compression     # from the header
        batch.crc_ok                              # reads every byte, still compressed
        batch.records()                           # decompresses, makes a list of `Record`

A Fetch response may end inside a batch: the broker cuts at a number of bytes. The rest is not an
error, only counted. In magic 0 and 1 there were messages, not batches: such a message is read as a
batch of one record, and a compressed one, which wraps others, as a batch of those.

    offset  magic 2 (61 bytes)              magic 0 and 1
         0  base offset, int64              offset, int64
         8  size of what follows, int32     size of what follows, int32
        12  partition leader epoch, int32   CRC-32 of what follows, int32
        16  magic, int8                     magic, int8
        17  CRC-32C of what follows, int32  attributes, int8 (and so on: `message_set`)
        21  attributes, int16: codec 0-2, LogAppendTime 3, transactional 4, control 5,
            delete horizon 6
        23  last offset delta, int32
        27  base timestamp, int64, or the delete horizon
        35  max timestamp, int64
        43  producer id, int64; 51 producer epoch, int16; 53 base sequence, int32
        57  record count, int32

Source: Kafka's `DefaultRecordBatch`, KIP-98, KIP-534.
"""

import struct
from typing import Final, NamedTuple

from kdiag.errors import DecodeError
from kdiag.wire.records import message_set
from kdiag.wire.records.batch import MAGIC_2, RecordBatch
from kdiag.wire.records.record import (
    CODEC_MASK,
    BatchHeader,
    ControlType,
    Header,
    Record,
    TimestampType,
    int64,
    read_control_type,
    write_control_key,
)
from kdiag.wire.records.writer import write_batch

__all__ = [
    "BatchHeader",
    "ControlType",
    "Header",
    "Record",
    "RecordBatch",
    "RecordSet",
    "TimestampType",
    "read_batches",
    "read_control_type",
    "read_sound_batches",
    "write_batch",
    "write_control_key",
]

MAGIC_OFFSET: Final = 16

_HEAD: Final = struct.Struct(">qiibIHiqqqhii")
_SIZE: Final = struct.Struct(">i")


class RecordSet(NamedTuple):
    """The batches of a `records` field.

    Attributes:
        batches: the whole batches.
        trailing_bytes: the bytes of a cut batch after them.
    """

    batches: list[RecordBatch]
    trailing_bytes: int


def read_batches(data: bytes | memoryview) -> RecordSet:
    """Return the batches in a `records` field; magic 0, 1 and 2 may be mixed.

    Batches of a view keep its memory alive.

    Raises:
        DecodeError: with a path such as `batches[2].magic`, if a header is wrong.
    """
    record_set, error = read_sound_batches(data)
    if error is not None:
        raise error
    return record_set


def read_sound_batches(data: bytes | memoryview) -> tuple[RecordSet, DecodeError | None]:
    """Return the batches up to the first whose header is wrong, and what is wrong with it."""
    batches: list[RecordBatch] = []
    position, end = 0, len(data)
    error = None
    while end - position > MAGIC_OFFSET:
        magic = data[position + MAGIC_OFFSET]
        if magic > MAGIC_2:
            path = f"batches[{len(batches)}].magic"
            error = DecodeError(path, position + MAGIC_OFFSET, f"{magic} is not a magic")
            break
        (size,) = _SIZE.unpack_from(data, position + 8)
        smallest = _HEAD.size if magic == MAGIC_2 else message_set.MIN_BYTES[magic]
        size += message_set.OVERHEAD_BYTES
        if size < smallest:
            path = f"batches[{len(batches)}].size"
            error = DecodeError(path, position + 8, f"magic {magic} in {size} bytes")
            break
        if size > end - position:
            break
        if magic == MAGIC_2:
            batches.append(_read_batch(data, position, size))
        else:
            data = bytes(data)
            batches.append(_read_message(data, position, size))
        position += size
    return RecordSet(batches, end - position), error


def _read_batch(data: bytes | memoryview, start: int, size: int) -> RecordBatch:
    """Return the batch of magic 2 in the `size` bytes from `start` on."""
    (
        base_offset,
        _,
        leader_epoch,
        magic,
        crc,
        attributes,
        delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    ) = _HEAD.unpack_from(data, start)
    return RecordBatch(
        data,
        start,
        size,
        magic,
        crc,
        attributes,
        int64(base_offset + delta),
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        leader_epoch,
        base_offset,
        count,
    )


def _read_message(data: bytes, start: int, size: int) -> RecordBatch:
    """Return the message of magic 0 or 1 in the `size` bytes from `start` on."""
    head = message_set.read_head(data, start)
    is_wrapper = head.attributes & CODEC_MASK
    return RecordBatch(
        data,
        start,
        size,
        head.magic,
        head.crc,
        head.attributes,
        head.offset,
        head.timestamp,
        head.timestamp,
        _base_offset=None if is_wrapper else head.offset,
        _record_count=None if is_wrapper else 1,
    )
