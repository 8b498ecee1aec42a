"""The records of a batch as columns of numpy, for work on many at once.

`read_columns` walks from record to record in Python, reading sizes only, and then reads each field
of all records in a few operations of numpy. That pays from about a hundred records on; for fewer,
`kdiag.wire.records.body.read_records` is faster.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from kdiag.wire.primitives import VARINT_BITS, VARLONG_BITS, RefusedError, read_uvarint
from kdiag.wire.records.body import find_fault
from kdiag.wire.records.record import Record

FEW: Final = 128
"""The most records for which Python is faster than numpy."""

Int64Array = npt.NDArray[np.int64]


class RecordColumns(NamedTuple):
    """The records of a batch, as columns of equal length.

    Attributes:
        body: the bytes of keys and values.
        offset: in the partition.
        timestamp: milliseconds since 1970, or -1.
        key_start: the start of the key in `body`.
        key_bytes: its length, -1 for null.
        value_start: the start of the value in `body`.
        value_bytes: its length, -1 for null.
        header_count: the number of record headers.
    """

    body: bytes
    offset: Int64Array
    timestamp: Int64Array
    key_start: Int64Array
    key_bytes: Int64Array
    value_start: Int64Array
    value_bytes: Int64Array
    header_count: Int64Array


def read_columns(body: bytes, count: int, base_offset: int, base_timestamp: int) -> RecordColumns:
    """Return the records of a batch of magic 2, checked as `read_records` checks them.

    Args:
        body: the records, decompressed; nothing else.
        count: their number in the batch header.
        base_offset: the base of offsets.
        base_timestamp: the base of timestamps.

    Raises:
        DecodeError: with a path such as `records[3].key`, at an offset in `body`.
    """
    try:
        columns = _read(body, _starts(body, [(count, len(body))]))
    except (IndexError, RefusedError):
        raise find_fault(body, count, max_headers=len(body)) from None
    return columns._replace(
        offset=columns.offset + base_offset, timestamp=columns.timestamp + base_timestamp
    )


class PackedRecords(NamedTuple):
    """The arguments of `read_columns` for one batch of several."""

    body: bytes
    record_count: int
    base_offset: int
    base_timestamp: int


def read_joined_columns(batches: Sequence[PackedRecords]) -> RecordColumns:
    """Return the records of several batches, one after the other, with one `body`.

    A call of numpy costs the same for a few records as for hundreds: with batches of twenty, read a
    hundred at once, a record takes a tenth of the time.

    Raises:
        DecodeError: as `read_columns` for the first batch that is wrong.
    """
    body = b"".join([each.body for each in batches])
    counts = [each.record_count for each in batches]
    ends = accumulate(len(each.body) for each in batches)
    try:
        columns = _read(body, _starts(body, zip(counts, ends, strict=True)))
    except (IndexError, RefusedError):
        for each in batches:
            read_columns(*each)
        raise
    offset = np.array([each.base_offset for each in batches], np.int64)
    timestamp = np.array([each.base_timestamp for each in batches], np.int64)
    return columns._replace(
        offset=columns.offset + np.repeat(offset, counts),
        timestamp=columns.timestamp + np.repeat(timestamp, counts),
    )


def columns_of(records: Sequence[Record]) -> RecordColumns:
    """Return records as columns, their keys and values in a new `body`."""
    parts = [part for record in records for part in (record.key, record.value)]
    sizes = np.array([-1 if part is None else len(part) for part in parts], np.int64)
    starts = np.cumsum(np.maximum(sizes, 0)) - np.maximum(sizes, 0)
    return RecordColumns(
        b"".join(part or b"" for part in parts),
        np.array([record.offset for record in records], np.int64),
        np.array([record.timestamp for record in records], np.int64),
        starts[::2],
        sizes[::2],
        starts[1::2],
        sizes[1::2],
        np.array([len(record.headers) for record in records], np.int64),
    )


def _starts(body: bytes, batches: Iterable[tuple[int, int]]) -> list[int]:
    """Return where each record starts, and where the last one ends: at the end of `body`.

    Args:
        body: the records.
        batches: pairs of the number of records that follow and the end of the last.
    """
    starts: list[int] = []
    append = starts.append
    position = 0
    seven_bits, fourteen_bits = (1 << 7) - 1, (1 << 14) - 1
    for count, end in batches:
        for _ in range(count):
            append(position)
            size = body[position]
            position += 1
            if size > seven_bits:  # read in place, as in `record_body`
                size += (body[position] << 7) - 128
                position += 1
                if size > fourteen_bits:
                    size, position = read_uvarint(body, position - 2)
            if size & 1:
                raise RefusedError
            position += size >> 1
        if count < 0 or position != end:
            raise RefusedError
    append(position)
    return starts


def _read(body: bytes, starts: list[int]) -> RecordColumns:
    """Return the columns of the records between the `starts`; the last start is the end.

    Offsets and timestamps are relative to those of the batch.
    """
    data = np.frombuffer(body, np.uint8)
    bounds = np.array(starts, np.int64)
    _, position = _varints(data, bounds[:-1])
    time, position = _varints(data, position + 1, VARLONG_BITS)  # past the attributes
    delta, position = _varints(data, position)
    key_bytes, key_start, position = _byte_strings(data, position)
    value_bytes, value_start, position = _byte_strings(data, position)
    headers, position = _varints(data, position)
    if (_after_headers(body, position, headers) != bounds[1:]).any():
        raise RefusedError
    return RecordColumns(
        body,
        delta,
        time,
        key_start,
        key_bytes,
        value_start,
        value_bytes,
        headers,
    )


def _after_headers(body: bytes, position: Int64Array, count: Int64Array) -> Int64Array:
    """Return the ends of the headers of many records, given their starts.

    The first header of all records is read at once, then the second, and so on. When few records
    have more, those are walked one by one: a single long record would make many rounds.
    """
    if (count < 0).any():
        raise RefusedError
    data = np.frombuffer(body, np.uint8)
    position = position.copy()
    rows = np.flatnonzero(count)
    left = count[rows]
    while rows.size > FEW:
        key_bytes, _, after_key = _byte_strings(data, position[rows])
        if (key_bytes < 0).any():
            raise RefusedError
        _, _, position[rows] = _byte_strings(data, after_key)
        rows, left = rows[left > 1], left[left > 1] - 1
    for row, headers in zip(rows.tolist(), left.tolist(), strict=True):
        position[row] = _skip_headers(body, int(position[row]), headers)
    return position


def _skip_headers(body: bytes, position: int, count: int) -> int:
    """Return the end of `count` headers."""
    for _ in range(count):
        length, position = read_uvarint(body, position)
        if length & 1:
            raise RefusedError
        length, position = read_uvarint(body, position + (length >> 1))
        if length & 1 and length != 1:
            raise RefusedError
        position += length >> 1
    return position


def _byte_strings(
    data: npt.NDArray[np.uint8], position: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return the lengths, starts and ends of byte strings."""
    length, start = _varints(data, position)
    if (length < -1).any():
        raise RefusedError
    return length, start, start + np.maximum(length, 0)


def _varints(
    data: npt.NDArray[np.uint8], position: Int64Array, bits: int = VARINT_BITS
) -> tuple[Int64Array, Int64Array]:
    """Return the signed varints at many positions, and the positions after them."""
    byte = data[position].astype(np.uint64)
    folded = byte & 0x7F
    position = position + 1
    unfinished = np.flatnonzero(byte & 0x80)
    for shift in range(7, bits, 7):
        if not unfinished.size:
            break
        byte = data[position[unfinished]].astype(np.uint64)
        if shift + 7 > bits and (byte >> (bits - shift)).any():
            raise RefusedError  # too large, or the last byte allowed says that more follow
        folded[unfinished] |= (byte & 0x7F) << shift
        position[unfinished] += 1
        unfinished = unfinished[(byte & 0x80).astype(bool)]
    return (folded >> 1).view(np.int64) ^ -(folded & 1).view(np.int64), position
