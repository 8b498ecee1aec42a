"""DER: elements of a tag, a length and a body, as keys in a JKS and parts of names are written.

Only what those use: tags of one byte and definite lengths.

Source: ITU-T X.690, sections 8.1 and 10.1.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from kdiag.errors import DecodeError

SEQUENCE: Final = 0x30
OCTET_STRING: Final = 0x04
OID: Final = 0x06

_LONG_TAG: Final = 0x1F
_LONG_LENGTH: Final = 0x80
_MAX_LENGTH_BYTES: Final = 4
_MORE: Final = 0x80
_SEVEN_BITS: Final = 0x7F
_ARCS: Final = 40
_LAST_ROOT: Final = 2


class Element(NamedTuple):
    """One element.

    Attributes:
        tag: its first byte.
        body: what is in it, without tag and length.
        offset: where its body begins, counted from the start of what was read.
        raw: all of it, with tag and length.
    """

    tag: int
    body: bytes
    offset: int
    raw: bytes

    def children(self) -> Iterator["Element"]:
        """Yield the elements in its body, one after the other.

        Raises:
            DecodeError: if they do not fill the body exactly.
        """
        at = 0
        while at < len(self.body):
            child = _read(self.body, at, self.offset)
            yield child
            at += len(child.raw)

    def child(self, tag: int, what: str) -> "Element":
        """Return the first element in its body that has a tag.

        Raises:
            DecodeError: if there is none.
        """
        for child in self.children():
            if child.tag == tag:
                return child
        raise DecodeError(what, self.offset, f"no element with tag 0x{tag:02x} is there")


def read_der(data: bytes) -> Element:
    """Return the element that some bytes begin with.

    Raises:
        DecodeError: if it is not whole.
    """
    return _read(data, 0, 0)


def oid_text(element: Element) -> str:
    """Return an object identifier with dots: `2.5.4.3`.

    Raises:
        DecodeError: if it ends in the middle of a number.
    """
    numbers, number = [], 0
    for byte in element.body:
        number = number << 7 | byte & _SEVEN_BITS
        if not byte & _MORE:
            numbers.append(number)
            number = 0
    if not numbers or element.body[-1] & _MORE:
        raise DecodeError("", element.offset, "an object identifier is not whole")
    root = min(numbers[0] // _ARCS, _LAST_ROOT)
    return ".".join(map(str, [root, numbers[0] - root * _ARCS, *numbers[1:]]))


def _read(data: bytes, at: int, origin: int) -> Element:
    """Return the element at `at`, checked against the bytes that remain."""
    length, start = _length(data, at, origin)
    if data[at] & _LONG_TAG == _LONG_TAG:
        raise DecodeError("", origin + at, "tags of several bytes are not read")
    if length > len(data) - start:
        why = f"the element states {length} bytes, {len(data) - start} are left"
        raise DecodeError("", origin + at, why)
    end = start + length
    return Element(data[at], data[start:end], origin + start, data[at:end])


def _length(data: bytes, at: int, origin: int) -> tuple[int, int]:
    """Return the length of the body of the element at `at`, and where its body begins."""
    start = at + 2
    if start > len(data):
        raise DecodeError("", origin + at, f"an element needs 2 bytes, {len(data) - at} are left")
    first = data[at + 1]
    if first < _LONG_LENGTH:
        return first, start
    size = first - _LONG_LENGTH
    if not 0 < size <= min(_MAX_LENGTH_BYTES, len(data) - start):
        raise DecodeError("", origin + at, f"a length of {size} bytes cannot be read")
    return int.from_bytes(data[start : start + size]), start + size
