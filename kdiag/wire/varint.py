"""The varints inside record batches: seven bits a byte, signed numbers folded by zigzag.

Zigzag maps 0, -1, 1, -2, ... to 0, 1, 2, 3, ..., so that small numbers of either sign are short. A
varint holds 32 bits in at most five bytes, a varlong 64 bits in at most ten.

Source: Kafka's `ByteUtils`.
"""

from typing import Final

VARINT_BITS: Final = 32
VARLONG_BITS: Final = 64
ONE_BYTE: Final = tuple(bytes([n]) for n in range(128))


class VarintError(ValueError):
    """The bytes are too many, or their number too large, for a varint."""


def read_unsigned(data: bytes, position: int, bits: int = VARINT_BITS) -> tuple[int, int]:
    """Return an unsigned varint of up to `bits` bits, and the position after it.

    Raises:
        VarintError: if it is longer than `bits` bits need, or its number larger than they hold.
        IndexError: if the bytes end inside it.
    """
    value = 0
    for shift in range(0, bits, 7):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            if value >> bits:
                raise VarintError(f"{value} does not fit {bits} bits")
            return value, position
    raise VarintError(f"a varint of {bits} bits takes at most {-(-bits // 7)} bytes")


def unfold(folded: int) -> int:
    """Return the signed number that zigzag folded: 0, 1, 2, 3 are 0, -1, 1, -2."""
    return ~(folded >> 1) if folded & 1 else folded >> 1


def signed(value: int) -> bytes:
    """Return the zigzag varint of a signed number, in as few bytes as it takes."""
    return unsigned(~value << 1 | 1 if value < 0 else value << 1)


def unsigned(value: int) -> bytes:
    """Return the varint of a number that is not negative, in as few bytes as it takes."""
    if not value >> 7:
        return ONE_BYTE[value]
    if not value >> 14:
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value >> 7:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
