"""The values of a batch's records and nothing else, for printing values.

Offsets, timestamps and keys are skipped, which takes two thirds of the time of
`kdiag.wire.records.body.read_records`. Faults in the records are found all the same.

Many batches hold records that are alike: no keys, no headers, values of one length from 57 bytes to
8 kB, all within 64 offsets and 64 ms of the batch's own. One call of `struct` reads all of them:

    0 size, 2 bytes   2 attributes   3 timestamp   4 offset   5 key: null   6 length, 2 bytes
    8 the value       then 0, the number of headers
"""

from itertools import chain
from struct import Struct, iter_unpack
from typing import Final

from kdiag.wire.primitives import VARLONG_BITS, RefusedError, read_uvarint
from kdiag.wire.records.body import find_fault, read_headers

_HEAD: Final = Struct("8B")
_NULL: Final = 1
_ONE_BYTE: Final = (1 << 7) - 1
_BEYOND_VALUE_BYTES: Final = 7
"""What a record's size counts beside the value: 7 bytes, or 14 as it is written."""


def read_values(body: bytes, count: int) -> list[bytes | None]:
    """Return the value of each record.

    Args:
        body: the records of a batch of magic 2, decompressed; nothing else.
        count: their number in the batch header.

    Raises:
        DecodeError: with a path such as `records[3].key`, at an offset in `body`.
    """
    try:
        return _read_alike(body, count) or _read(body, count)
    except (IndexError, RefusedError):
        raise find_fault(body, count, max_headers=len(body)) from None


def _read_alike(body: bytes, count: int) -> list[bytes | None]:
    """Return the values of records that are alike; none if these are not, or may be wrong.

    A byte of all records is a slice of the body, so that no code of Python's runs for a record.
    """
    step, rest = divmod(len(body), max(1, count))
    if rest or count < 2 or step < _HEAD.size + 2:  # noqa: PLR2004 - one has none like it
        return []
    low, high, _, _, _, key, length_low, length_high = _HEAD.unpack_from(body)
    size = (high << 7) + low - 128
    length = (length_high << 7) + length_low - 128
    if (
        length & 1
        or length != size - 2 * _BEYOND_VALUE_BYTES
        or (size >> 1) + 2 != step
        or key != _NULL
        or min(low, length_low) <= _ONE_BYTE
        or max(high, length_high) > _ONE_BYTE
        or not (body[3::step].isascii() and body[4::step].isascii())
        or any(body[step - 1 :: step])
    ):
        return []
    for place in (0, 1, 5, 6, 7):
        if body[place::step] != body[place : place + 1] * count:
            return []
    return list(chain.from_iterable(iter_unpack(f"8x{length >> 1}sx", body)))


def _read(body: bytes, count: int) -> list[bytes | None]:  # noqa: C901, PLR0912, PLR0915 - see `record_body`
    """Return the values; a varint of two bytes is `first + (second << 7) - 128`."""
    values: list[bytes | None] = []
    append = values.append
    position = 0
    seven_bits, fourteen_bits = (1 << 7) - 1, (1 << 14) - 1
    for _ in range(count):
        size = body[position]
        position += 1
        if size > seven_bits:
            size += (body[position] << 7) - 128
            position += 1
            if size > fourteen_bits:
                size, position = read_uvarint(body, position - 2)
        twice_end = position + position + size  # odd, and so never met, if the size is negative
        position += 2
        if body[position - 1] > seven_bits:  # the timestamp
            position += 1
            if body[position - 1] > seven_bits:
                _, position = read_uvarint(body, position - 2, VARLONG_BITS)
        position += 1
        if body[position - 1] > seven_bits:  # the offset
            position += 1
            if body[position - 1] > seven_bits:
                _, position = read_uvarint(body, position - 2)
        length = body[position]
        position += 1
        if length != 1:  # the key
            if length > seven_bits:
                length, position = read_uvarint(body, position - 1)
            if length & 1:
                raise RefusedError
            position += length >> 1
        length = body[position]
        position += 1
        if length > seven_bits:
            length += (body[position] << 7) - 128
            position += 1
            if length > fourteen_bits:
                length, position = read_uvarint(body, position - 2)
        if length & 1:
            if length != 1:
                raise RefusedError
            append(None)
        else:
            end = position + (length >> 1)
            append(body[position:end])
            position = end
        if body[position]:
            _, position = read_headers(body, position, len(body))
        else:
            position += 1
        if position + position != twice_end:
            raise RefusedError
    if position != len(body):
        raise RefusedError
    return values
