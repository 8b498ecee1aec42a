"""What a log accepts, and how batches get their offsets: in place, without writing them anew.

A producer numbers its records from 0. The leader writes the offset of the first record and its own
epoch into the header, which the checksum leaves out; everything else stays as it came. Three things
need more, as in Kafka: a topic with LogAppendTime, or a batch whose largest timestamp is not what
it says (the header changes, with a new checksum); a topic with a codec of its own, a compressed
message set of magic 0, or records that are not numbered one by one (the records are written anew).

Kafka 4 takes magic 2 only (KIP-724). This log takes message sets of magic 0 and 1 as well and keeps
them as they are, for a node that speaks as an older release; nothing is converted here.

Source: Kafka's `UnifiedLog.analyzeAndValidateRecords`, `LogValidator`.
"""

import struct
import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from kdiag.errors import DecodeError
from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.producers.append_info import AppendOrigin
from kdiag.lab.log.refusal import LogRefusedError, RecordError
from kdiag.wire.records.batch import CRC_2_START, CRC_LEGACY_START, MAGIC_2, RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.compression import crc32c
from kdiag.wire.records.message_set import OVERHEAD_BYTES
from kdiag.wire.records.record import (
    CODEC_MASK,
    LOG_APPEND_TIME_BIT,
    NO_TIMESTAMP,
    BatchHeader,
    Record,
    TimestampType,
)
from kdiag.wire.records.writer import write_batch

LARGE_COUNT: Final = 128
"""The number of records from which on columns of numpy are faster, and worth loading it."""
LARGE_BYTES: Final = 1 << 16
"""Likewise of bytes: columns do not copy values. A hundred of 10 kB took ten times as long."""

_INT64: Final = struct.Struct(">q")
_INT32: Final = struct.Struct(">i")
_UINT32: Final = struct.Struct(">I")
_UINT16: Final = struct.Struct(">H")
_LEADER_EPOCH_START: Final = 12
_CRC_START: Final = 17
_MAX_TIMESTAMP_START: Final = 35
_LEGACY_ATTRIBUTES_START: Final = 17
_LEGACY_TIMESTAMP_START: Final = 18


class AppendTerms(NamedTuple):
    """What a leader gives to the batches it appends.

    Attributes:
        next_offset: the offset of the first record.
        leader_epoch: its epoch.
        now_ms: the time of appending.
        origin: whose batches they are.
    """

    next_offset: int
    leader_epoch: int
    now_ms: int
    origin: AppendOrigin


class Appendable(NamedTuple):
    """Batches that may be written as they are.

    Attributes:
        data: their bytes.
        batches: their headers.
    """

    data: bytes | bytearray
    batches: list[RecordBatch]


class _Contents(NamedTuple):
    """What was found in the records of a batch.

    Attributes:
        record_count: their number.
        max_timestamp: their largest timestamp.
        is_numbered: whether their offsets follow one another from the base offset on.
    """

    record_count: int
    max_timestamp: int
    is_numbered: bool


def read_appendable(
    records: bytes | memoryview, config: LogConfig, origin: AppendOrigin
) -> Appendable:
    """Return the whole batches of a `records` field, checked as far as headers go.

    Raises:
        LogRefusedError: if one is damaged or too large, or does not begin at 0 as a client's does.
    """
    data = bytes(records)
    try:
        read = read_batches(data)
    except DecodeError as error:
        raise LogRefusedError("CORRUPT_MESSAGE", str(error)) from None
    for batch in read.batches:
        if batch.magic == MAGIC_2 and origin is AppendOrigin.CLIENT and batch.base_offset:
            why = f"the base offset is {batch.base_offset}, a producer's is 0"
            raise LogRefusedError("INVALID_RECORD", why)
        if origin is not AppendOrigin.REPLICATION:
            _check_size(batch.size_in_bytes, config)
        if not batch.crc_ok:
            why = f"the checksum of the batch at byte {batch.start} does not fit its bytes"
            raise LogRefusedError("CORRUPT_MESSAGE", why)
    return Appendable(data[: len(data) - read.trailing_bytes], read.batches)


def assign_offsets(came: Appendable, config: LogConfig, terms: AppendTerms) -> Appendable:
    """Return batches with their offsets and the leader's epoch.

    Raises:
        LogRefusedError: if a batch or a record is not one that the topic takes.
    """
    first = came.batches[0]
    is_batch = first.magic == MAGIC_2 or first.attributes & CODEC_MASK
    if is_batch and len(came.batches) > 1:
        raise LogRefusedError("INVALID_RECORD", f"{len(came.batches)} batches, expected one")
    data = bytearray(came.data)
    offset = terms.next_offset
    for batch in came.batches:
        _check_batch(batch, first.magic, terms.origin)
        contents = _check_records(batch, config, terms)
        if _needs_rewriting(batch, contents, config):
            return _rewritten(came.batches, config, terms)
        offset += contents.record_count
        _assign(data, batch, offset - contents.record_count, offset - 1, terms.leader_epoch)
        _stamp(data, batch, contents.max_timestamp, config, terms.now_ms)
    return Appendable(data, read_batches(memoryview(data)).batches)


def _check_size(size: int, config: LogConfig) -> None:
    if size > config.max_message_bytes:
        why = f"a batch of {size} bytes, the topic takes up to {config.max_message_bytes}"
        raise LogRefusedError("MESSAGE_TOO_LARGE", why)


def _check_batch(batch: RecordBatch, magic: int, origin: AppendOrigin) -> None:
    """Refuse a batch whose header contradicts itself, or that a client may not write."""
    if batch.magic != magic:
        raise LogRefusedError("INVALID_RECORD", f"magic {batch.magic} after magic {magic}")
    if batch.compression not in {"none", "gzip", "snappy", "lz4", "zstd"}:
        raise LogRefusedError("CORRUPT_MESSAGE", f"compression {batch.compression}")
    if magic < MAGIC_2:
        if batch.compression == "zstd":
            raise LogRefusedError("UNSUPPORTED_COMPRESSION_TYPE", "zstd needs magic 2")
        return
    if origin is not AppendOrigin.CLIENT:
        return
    spanned = batch.last_offset - batch.base_offset + 1
    if spanned <= 0 or batch.record_count != spanned:
        why = f"{batch.record_count} records span {spanned} offsets"
        raise LogRefusedError("INVALID_RECORD", why)
    if batch.is_control:
        raise LogRefusedError("INVALID_RECORD", "clients may not write control batches")
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        why = f"producer {batch.producer_id} gives sequence {batch.base_sequence}"
        raise LogRefusedError("INVALID_RECORD", why)


def _check_records(batch: RecordBatch, config: LogConfig, terms: AppendTerms) -> _Contents:
    """Read the records: a large batch as columns, a small one as records."""
    is_large = batch.record_count >= LARGE_COUNT or batch.size_in_bytes >= LARGE_BYTES
    try:
        if is_large and batch.magic == MAGIC_2:
            return _check_columns(batch, config, terms)
        return _check_each(batch, batch.records(), config, terms)
    except DecodeError as error:
        name = "INVALID_RECORD" if batch.compression == "none" else "CORRUPT_MESSAGE"
        raise LogRefusedError(name, str(error)) from None


def _check_columns(batch: RecordBatch, config: LogConfig, terms: AppendTerms) -> _Contents:
    columns = batch.columns()
    times, offsets = columns.timestamp, columns.offset
    least, most = int(times.min()), int(times.max())
    is_suspect = (
        (config.is_compacted and int(columns.key_bytes.min()) < 0)
        or batch.timestamp_type is TimestampType.LOG_APPEND_TIME
        or (not config.is_stamped and not _are_in_time((least, most), config, terms.now_ms))
    )
    if is_suspect:
        return _check_each(batch, batch.records(), config, terms)
    steps = offsets[1:] - offsets[:-1]
    starts_right = int(offsets[0]) == batch.base_offset
    is_numbered = starts_right and bool((steps == 1).all())
    return _Contents(len(offsets), most, is_numbered)


def _check_each(
    batch: RecordBatch, records: Sequence[Record], config: LogConfig, terms: AppendTerms
) -> _Contents:
    """Check record for record, and name those that are refused."""
    keyless = [
        RecordError(index, "a compacted topic takes no record without a key")
        for index, record in enumerate(records)
        if config.is_compacted and record.key is None and not batch.is_control
    ]
    untimely = [
        RecordError(index, why)
        for index, record in enumerate(records)
        if (why := _fault_in_time(batch, record, config, terms.now_ms))
    ]
    if keyless or untimely:
        name = "INVALID_TIMESTAMP" if untimely else "INVALID_RECORD"
        faults = tuple(sorted((*keyless, *untimely)))
        why = f"{len(faults)} records are refused; the first: {faults[0].message}"
        raise LogRefusedError(name, why, faults)
    base = batch.base_offset if batch.magic == MAGIC_2 else 0
    is_numbered = all(record.offset == base + at for at, record in enumerate(records))
    newest = max((record.timestamp for record in records), default=NO_TIMESTAMP)
    return _Contents(len(records), newest, is_numbered)


def _fault_in_time(
    batch: RecordBatch, record: Record, config: LogConfig, now_ms: int
) -> str | None:
    """Return what is wrong with a record's timestamp."""
    if not config.is_stamped and record.timestamp != NO_TIMESTAMP:
        if _are_in_time((record.timestamp,), config, now_ms):
            return None
        before, after = (
            config.message_timestamp_before_max_ms,
            config.message_timestamp_after_max_ms,
        )
        return (
            f"timestamp {record.timestamp} is not within {before} ms before and {after} ms after"
            f" {now_ms}"
        )
    if batch.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return "a producer may not give LogAppendTime"
    return None


def _are_in_time(times: Sequence[int], config: LogConfig, now_ms: int) -> bool:
    return all(
        time == NO_TIMESTAMP
        or -config.message_timestamp_after_max_ms
        <= now_ms - time
        <= config.message_timestamp_before_max_ms
        for time in times
    )


def _needs_rewriting(batch: RecordBatch, contents: _Contents, config: LogConfig) -> bool:
    if batch.is_control:
        return False
    is_compressed = batch.attributes & CODEC_MASK
    return (
        config.target_codec(batch.compression) != batch.compression
        or (is_compressed and not batch.magic)
        or (bool(is_compressed) and not contents.is_numbered)
    )


def _assign(data: bytearray, batch: RecordBatch, first: int, last: int, epoch: int) -> None:
    """Write offset and leader epoch into a header; messages of magic 0 and 1 have the last one."""
    if batch.magic == MAGIC_2:
        _INT64.pack_into(data, batch.start, first)
        _INT32.pack_into(data, batch.start + _LEADER_EPOCH_START, epoch)
    else:
        _INT64.pack_into(data, batch.start, last)


def _stamp(
    data: bytearray, batch: RecordBatch, newest: int, config: LogConfig, now_ms: int
) -> None:
    """Write timestamp type and largest timestamp, and a new checksum if either changed."""
    attributes = batch.attributes & ~LOG_APPEND_TIME_BIT
    timestamp = newest
    if config.is_stamped:
        attributes, timestamp = attributes | LOG_APPEND_TIME_BIT, now_ms
    if not batch.magic or (attributes, timestamp) == (batch.attributes, batch.max_timestamp):
        return
    start, end = batch.start, batch.start + batch.size_in_bytes
    if batch.magic == MAGIC_2:
        _UINT16.pack_into(data, start + CRC_2_START, attributes)
        _INT64.pack_into(data, start + _MAX_TIMESTAMP_START, timestamp)
        with memoryview(data)[start + CRC_2_START : end] as checked:
            crc = crc32c(checked)
        _UINT32.pack_into(data, start + _CRC_START, crc)
        return
    data[start + _LEGACY_ATTRIBUTES_START] = attributes
    _INT64.pack_into(data, start + _LEGACY_TIMESTAMP_START, timestamp)
    with memoryview(data)[start + CRC_LEGACY_START : end] as checked:
        crc = zlib.crc32(checked)
    _UINT32.pack_into(data, start + OVERHEAD_BYTES, crc)


def _rewritten(batches: Sequence[RecordBatch], config: LogConfig, terms: AppendTerms) -> Appendable:
    """Return batches written anew, in the topic's codec, numbered one by one."""
    offset, parts = terms.next_offset, []
    for batch in batches:
        records = batch.records()
        for record in records:
            record.offset = offset
            offset += 1
            if config.is_stamped:
                record.timestamp = terms.now_ms
        header = BatchHeader(
            magic=batch.magic,
            compression=config.target_codec(batch.compression),
            timestamp_type=config.message_timestamp_type,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            partition_leader_epoch=terms.leader_epoch,
            is_transactional=batch.is_transactional,
        )
        parts.append(write_batch(records, header))
    data = b"".join(parts)
    rewritten = read_batches(data).batches
    for batch in rewritten:
        _check_size(batch.size_in_bytes, config)
    return Appendable(data, rewritten)
