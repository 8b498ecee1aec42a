"""The smallest parts of the wire format: numbers of fixed size, varints, tag sections, uuids.

The compiled codecs (`codec.messages`) inline the common cases and call these functions for the
rest. Readers raise `RefusedError` for wrong bytes and `IndexError` at their end, without the place:
`codec.explain` then reads the same bytes again, slowly, and names it.

A varint has seven bits a byte, low bits first; the high bit says that more follow: 300 is `ac 02`.
A signed number is folded first (zigzag), so that small ones of either sign are short: 0, -1, 1, -2
become 0, 1, 2, 3.

Source: the protocol guide's "Protocol Primitive Types"; Kafka's `ByteUtils` and `RawTaggedField`.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import lru_cache
from struct import Struct
from typing import Any, Final

from kdiag.wire.schema import Kind

FORMATS: Final[dict[Kind, str]] = {
    Kind.BOOLEAN: "?",
    Kind.INT8: "b",
    Kind.INT16: "h",
    Kind.UINT16: "H",
    Kind.INT32: "i",
    Kind.UINT32: "I",
    Kind.INT64: "q",
    Kind.FLOAT64: "d",
    Kind.UUID: "16s",
}
"""The `struct` format of each kind of fixed size."""

SIZES: Final = {kind: Struct(f">{letters}").size for kind, letters in FORMATS.items()}
"""The bytes that each kind of fixed size takes."""

MAX_CACHED_LENGTH: Final = 64
LARGE_BYTES: Final = 1 << 14


class RefusedError(Exception):
    """The bytes break the format; the slow reader finds out where and why."""


class ByLength(dict[int, Callable[..., Any]]):
    """Packers or unpackers for arrays of one kind of number, by length; made on first use."""

    def __init__(self, prefix: str, letter: str, method: str) -> None:
        super().__init__()
        self._prefix = prefix
        self._letter = letter
        self._method = method

    def __missing__(self, length: int) -> Callable[..., Any]:
        """Make the function for `length` elements; keep it if arrays of that length are common."""
        layout = Struct(f">{self._prefix}{length}{self._letter}")
        function: Callable[..., Any] = getattr(layout, self._method)
        if length <= MAX_CACHED_LENGTH:
            self[length] = function
        return function


_LETTERS: Final[dict[Kind, str]] = {
    kind: letters for kind, letters in FORMATS.items() if kind is not Kind.UUID
}
UNPACKERS: Final[dict[Kind, ByLength]] = {
    k: ByLength("", letter, "unpack_from") for k, letter in _LETTERS.items()
}
PACKERS: Final[dict[Kind, ByLength]] = {
    k: ByLength("i", letter, "pack") for k, letter in _LETTERS.items()
}
COMPACT_PACKERS: Final[dict[Kind, ByLength]] = {
    k: ByLength("B", letter, "pack") for k, letter in _LETTERS.items()
}


VARINT_BITS: Final = 32
VARLONG_BITS: Final = 64
MAX_UVARINT_BYTES: Final = 5
ONE_BYTE: Final = tuple(bytes([n]) for n in range(128))
"""The varints of one byte."""


def read_uvarint(data: bytes, position: int, bits: int = VARINT_BITS) -> tuple[int, int]:
    """Return an unsigned varint of up to `bits` bits, and the position after it.

    Raises:
        RefusedError: if it is longer than `bits` bits need, or its number larger than they hold.
        IndexError: if the bytes end inside it.
    """
    value = data[position]
    position += 1
    if value < 0x80:  # noqa: PLR2004 - the high bit
        return value, position
    value &= 0x7F
    for shift in range(7, bits, 7):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the high bit
            if value >> bits:
                raise RefusedError(f"{value} does not fit {bits} bits")
            return value, position
    raise RefusedError(f"a varint of {bits} bits takes at most {-(-bits // 7)} bytes")


def unfold(folded: int) -> int:
    """Return the signed number that zigzag folded: 0, 1, 2, 3 are 0, -1, 1, -2."""
    return ~(folded >> 1) if folded & 1 else folded >> 1


def uvarint(value: int) -> bytes:
    """Return the varint of a number of up to 32 bits that is not negative.

    Raises:
        OverflowError: if the number is another.
    """
    if 0 <= value < 128:  # noqa: PLR2004 - fits seven bits
        return ONE_BYTE[value]
    if not 0 <= value <= 0xFFFFFFFF:  # noqa: PLR2004 - 32 bits
        raise OverflowError(value)
    return varint(value)


def zigzag(value: int) -> bytes:
    """Return the varint of a signed number, folded by zigzag."""
    return varint(~value << 1 | 1 if value < 0 else value << 1)


def varint(value: int) -> bytes:
    """Return the shortest varint of a number that is not negative, which is not checked."""
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


def read_tag_count(data: bytes, position: int, first: int) -> tuple[int, int]:
    """Return the number of tagged fields that follow, given the first byte of the count.

    Raises:
        RefusedError: if the bytes that remain cannot hold that many.
    """
    count = first
    if first > 127:  # noqa: PLR2004 - one byte holds up to 127
        count, position = read_uvarint(data, position - 1)
    if 2 * count > len(data) - position:
        raise RefusedError
    return count, position


def read_tag_head(data: bytes, position: int) -> tuple[int, int, int]:
    """Return a tagged field's tag, and the positions of its value's end and start."""
    tag, position = read_uvarint(data, position)
    size, position = read_uvarint(data, position)
    end = position + size
    if end > len(data):
        raise RefusedError
    return tag, end, position


def read_unknown_tags(data: bytes, position: int, first: int) -> tuple[dict[int, bytes], int]:
    """Return the tags of a section in which none is known, and the position after it."""
    count, position = read_tag_count(data, position, first)
    tags = {}
    for _ in range(count):
        tag, end, position = read_tag_head(data, position)
        tags[tag] = data[position:end]
        position = end
    return tags, position


def tag_section(tags: dict[int, bytes]) -> bytes:
    """Return the section of some tags: in ascending order, each with its size."""
    parts = [uvarint(len(tags))]
    for tag in sorted(tags):
        value = tags[tag]
        parts += (uvarint(tag), uvarint(len(value)), value)
    return b"".join(parts)


def merge_tags(
    written: dict[int, bytes], unknown: dict[int, bytes] | None, known: AbstractSet[int]
) -> bytes:
    """Return the section of known tags, already written, and unknown ones together.

    Raises:
        RefusedError: if an unknown tag has the number of a field that the version knows.
    """
    if not unknown:
        return tag_section(written)
    if known & unknown.keys():
        raise RefusedError
    return tag_section(written | unknown)


def view_if_large(data: bytes, start: int, end: int) -> bytes | memoryview:
    """Return a part of some bytes: a copy, or a view if it is large."""
    return data[start:end] if end - start < LARGE_BYTES else memoryview(data)[start:end]


@lru_cache(maxsize=4096)
def uuid_text(uuid: bytes) -> str:
    """Return Kafka's text of a uuid: 22 characters of unpadded URL-safe base64."""
    return urlsafe_b64encode(uuid).decode("ascii").rstrip("=")


def uuid_bytes(text: str) -> bytes:
    """Return the sixteen bytes of Kafka's text of a uuid.

    Raises:
        ValueError: if the text is not the base64 of sixteen bytes.
    """
    uuid = urlsafe_b64decode(text + "==")
    if len(uuid) != SIZES[Kind.UUID]:
        raise ValueError(f"a uuid has 16 bytes, {text!r} has {len(uuid)}")
    return uuid
