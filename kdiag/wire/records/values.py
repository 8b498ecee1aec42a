"""The values of a batch's records and nothing else, for printing values.

Offsets, timestamps and keys are skipped, which takes two thirds of the time of
`kdiag.wire.records.body.read_records`. Faults in the records are found all the same.
"""

from kdiag.wire.primitives import VARLONG_BITS, RefusedError, read_uvarint
from kdiag.wire.records.body import find_fault, read_headers


def read_values(body: bytes, count: int) -> list[bytes | None]:
    """Return the value of each record.

    Args:
        body: the records of a batch of magic 2, decompressed; nothing else.
        count: their number in the batch header.

    Raises:
        DecodeError: with a path such as `records[3].key`, at an offset in `body`.
    """
    try:
        return _read(body, count)
    except (IndexError, RefusedError):
        raise find_fault(body, count, max_headers=len(body)) from None


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
