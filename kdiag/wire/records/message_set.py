"""Messages of magic 0 and 1, which came before record batches (Kafka up to 0.10).

Theory of operation. A message set is messages in a row, each after its offset and size:

    offset int64, size int32, crc int32, magic int8, attributes int8,
    timestamp int64 (magic 1 only), key bytes, value bytes

The checksum is the CRC-32 of all bytes after it. A compressed message, the *wrapper*, has a whole
message set as its value. In magic 0 the inner offsets are absolute. In magic 1 they are relative,
and the wrapper has the offset of its last message: a wrapper at 105 around 0, 1, 2 holds the
offsets 103, 104, 105. If a producer leaves the wrapper at 0, its relative offsets are absolute. If
the wrapper's timestamp type is LogAppendTime, its timestamp counts for all inner messages.

Source: Kafka's `LegacyRecord` and `AbstractLegacyRecordBatch`, KIP-31 and KIP-32.
"""

import struct
import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from kdiag.errors import DecodeError, EncodeError
from kdiag.wire.records import compression
from kdiag.wire.records.record import (
    CODEC_MASK,
    LOG_APPEND_TIME_BIT,
    NO_TIMESTAMP,
    RECORD_COST_BYTES,
    BatchHeader,
    Record,
    TimestampType,
    int64,
)

OVERHEAD_BYTES: Final = 12
"""The fields offset and size, which the size does not count."""

MIN_BYTES: Final = (OVERHEAD_BYTES + 14, OVERHEAD_BYTES + 22)
"""The smallest message of magic 0 and 1: key and value null."""

_HEAD: Final = struct.Struct(">qiIbB")
_TIMESTAMP: Final = struct.Struct(">q")
_LENGTH: Final = struct.Struct(">i")
_HEADS: Final = (_HEAD, struct.Struct(">qiIbBq"))


class MessageHead(NamedTuple):
    """The fields of a message before its key and value.

    Attributes:
        offset: as on the wire.
        end: the end of the message.
        crc: as on the wire.
        magic: 0 or 1.
        attributes: codec and timestamp type.
        timestamp: in milliseconds since 1970, -1 in magic 0.
        position: the place of the key's length.
    """

    offset: int
    end: int
    crc: int
    magic: int
    attributes: int
    timestamp: int
    position: int


def read_head(data: bytes, start: int) -> MessageHead:
    """Return the head of the message at `start`; its magic and size are known to be right."""
    offset, size, crc, magic, attributes = _HEAD.unpack_from(data, start)
    position, timestamp = start + _HEAD.size, NO_TIMESTAMP
    if magic:
        (timestamp,) = _TIMESTAMP.unpack_from(data, position)
        position += _TIMESTAMP.size
    end = start + OVERHEAD_BYTES + size
    return MessageHead(offset, end, crc, magic, attributes, timestamp, position)


def read_key_and_value(
    data: bytes, head: MessageHead, path: str
) -> tuple[bytes | None, bytes | None]:
    """Return the key and the value of a message.

    Raises:
        DecodeError: with `path`, if they do not fill the message.
    """
    key, position = _read_bytes(data, head.position, head.end, f"{path}.key")
    value, position = _read_bytes(data, position, head.end, f"{path}.value")
    if position != head.end:
        raise DecodeError(path, position, f"{head.end - position} bytes after the value")
    return key, value


def _read_bytes(data: bytes, start: int, end: int, path: str) -> tuple[bytes | None, int]:
    if end - start < _LENGTH.size:
        raise DecodeError(path, start, f"a length takes 4 bytes, {end - start} remain")
    (length,) = _LENGTH.unpack_from(data, start)
    start += _LENGTH.size
    if length == -1:
        return None, start
    if not 0 <= length <= end - start:
        why = f"a length of {length}, where {end - start} bytes remain"
        raise DecodeError(path, start - _LENGTH.size, why)
    return data[start : start + length], start + length


def read_records(
    data: bytes, start: int, *, max_bytes: int, stored_timestamps: bool = False
) -> list[Record]:
    """Return the record of the message at `start`, or the records in it if it is compressed.

    Args:
        data: bytes with the whole message in them.
        start: its first byte.
        max_bytes: the limit of memory for the records.
        stored_timestamps: whether to return the inner messages' own timestamps if the wrapper
            has a LogAppendTime.

    Raises:
        DecodeError: with a path such as `records[3].key`. Of a fault in compressed messages the
            offset is one in the decompressed bytes.
    """
    wrapper = read_head(data, start)
    key, value = read_key_and_value(data, wrapper, "records[0]")
    codec = wrapper.attributes & CODEC_MASK
    if not codec:
        return [Record(wrapper.offset, wrapper.timestamp, key, value)]
    inner = _decompress(wrapper, value, max_bytes)
    most_records = len(inner) // MIN_BYTES[wrapper.magic]
    needed_bytes = len(inner) + most_records * RECORD_COST_BYTES
    max_bytes = compression.ALLOWANCE.at_most(needed_bytes, max_bytes)
    records = _read_inner(inner, wrapper.magic, max_bytes - len(inner))
    if wrapper.magic:
        _place(records, wrapper.offset)
        if wrapper.attributes & LOG_APPEND_TIME_BIT and not stored_timestamps:
            for record in records:
                record.timestamp = wrapper.timestamp
    return records


def _decompress(wrapper: MessageHead, value: bytes | None, max_bytes: int) -> bytes:
    """Return the message set inside a wrapper."""
    if value is None:
        raise DecodeError("records", wrapper.position, "a compressed message without a value")
    codec = compression.name_of(wrapper.attributes & CODEC_MASK)
    try:
        return compression.decompress(codec, value, max_bytes=max_bytes, magic=wrapper.magic)
    except DecodeError as error:
        offset = wrapper.end - len(value) + error.offset
        raise DecodeError("records", offset, error.why) from None


def _read_inner(inner: bytes, magic: int, max_bytes: int) -> list[Record]:
    """Return the messages of a decompressed set, with the offsets that it has."""
    records: list[Record] = []
    position = 0
    while position < len(inner):
        path = f"records[{len(records)}]"
        _check_inner_size(inner, position, magic, path)
        head = read_head(inner, position)
        if head.attributes & CODEC_MASK:
            raise DecodeError(path, position, "compressed inside a compressed message")
        max_bytes -= RECORD_COST_BYTES
        if max_bytes < 0:
            raise DecodeError(path, position, "the records take more memory than allowed")
        key, value = read_key_and_value(inner, head, path)
        records.append(Record(head.offset, head.timestamp, key, value))
        position = head.end
    if not records:
        raise DecodeError("records", 0, "a compressed message holds no message")
    return records


def _check_inner_size(inner: bytes, start: int, magic: int, path: str) -> None:
    """Refuse a cut inner message, one of another magic, and one too small for its magic."""
    left = len(inner) - start
    if left < MIN_BYTES[magic]:
        raise DecodeError(path, start, f"{left} bytes are not a message of magic {magic}")
    _, size, _, found, _ = _HEAD.unpack_from(inner, start)
    if found != magic:
        raise DecodeError(f"{path}.magic", start + 16, f"{found} inside a message of {magic}")
    if not MIN_BYTES[magic] <= size + OVERHEAD_BYTES <= left:
        why = f"a message of {size} bytes, where {left - OVERHEAD_BYTES} remain"
        raise DecodeError(f"{path}.size", start + 8, why)


def _place(records: list[Record], wrapper_offset: int) -> None:
    """Make the relative offsets of inner messages absolute."""
    base = wrapper_offset - records[-1].offset
    if base > 0:
        for record in records:
            record.offset = int64(base + record.offset)


def write_message_set(records: Sequence[Record], header: BatchHeader) -> bytes:
    """Return records as a message set: a message for each, or a compressed one around them.

    Timestamps are left out in magic 0.

    Raises:
        EncodeError: if magic 0 and 1 have no such field.
    """
    if header.compression == "zstd":
        raise EncodeError("compression", "zstd needs magic 2")
    for index, record in enumerate(records):
        if record.headers:
            raise EncodeError(f"records[{index}].headers", "record headers need magic 2")
    attributes = 0
    if header.magic and header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        attributes = LOG_APPEND_TIME_BIT
    if header.compression == "none":
        return b"".join(_write_message(record, header.magic, attributes) for record in records)
    return _write_wrapper(records, header, attributes) if records else b""


def _write_wrapper(records: Sequence[Record], header: BatchHeader, attributes: int) -> bytes:
    """Return the one message that wraps the others; it has the largest of their timestamps."""
    base = header.base_offset
    if base is None:
        base = records[0].offset
    inner = b"".join(
        _write_message(record, header.magic, attributes, base=base if header.magic else 0)
        for record in records
    )
    value = compression.compress(
        header.compression, inner, form=header.compression_form, magic=header.magic
    )
    timestamp = header.max_timestamp
    if timestamp is None:
        timestamp = max(record.timestamp for record in records)
    wrapper = Record(records[-1].offset, timestamp, None, value)
    codec = compression.CODECS.index(header.compression)
    return _write_message(wrapper, header.magic, attributes | codec)


def _write_message(record: Record, magic: int, attributes: int, *, base: int = 0) -> bytes:
    """Return one message, its offset less `base`."""
    key = _LENGTH.pack(-1) if record.key is None else _LENGTH.pack(len(record.key)) + record.key
    value = record.value or b""
    length = _LENGTH.pack(-1 if record.value is None else len(value))
    size = _HEADS[magic].size - OVERHEAD_BYTES + len(key) + len(length) + len(value)
    fields = [record.offset - base, size, 0, magic, attributes]
    if magic:
        fields.append(record.timestamp)
    message = bytearray(b"".join((_HEADS[magic].pack(*fields), key, length, value)))
    struct.pack_into(">I", message, OVERHEAD_BYTES, zlib.crc32(memoryview(message)[16:]))
    return bytes(message)
