"""The slow reader: finds the field of every byte of a message, or where and why bytes are wrong.

It reads the same schema as the compiled decoders and refuses exactly what they refuse, but keeps
the path and offset of each field, and the readable part before a fault:

    >>> from kdiag.wire.api.find_coordinator import FindCoordinatorRequest
    >>> cut = explain(FindCoordinatorRequest, 4, bytes.fromhex("0002076f72"))
    >>> [(span.offset, span.length, span.path, span.value) for span in cut.spans]
    [(0, 1, 'keyType', 0), (1, 1, 'coordinatorKeys', 1)]
    >>> str(cut.error)
    'coordinatorKeys[0] at byte 3: 6 bytes expected, 2 remain'
"""

from collections.abc import Callable
from struct import Struct as Layout
from typing import Any, Final

import msgspec

from kdiag.errors import DecodeError
from kdiag.wire.codec.layout import check_version, element_bytes, is_flexible, tagged, untagged
from kdiag.wire.primitives import FORMATS, MAX_UVARINT_BYTES, SIZES, UNPACKERS, uuid_text
from kdiag.wire.schema import Field, Kind, Struct, fields_of

_LAYOUTS: Final = {kind: Layout(f">{letters}") for kind, letters in FORMATS.items()}

NO_SPAN: Final = "\0"
"""Ends no path: for `only`, to keep no span."""

MOST_ELEMENTS: Final = 100_000
"""So many elements of arrays are read to tell what is wrong; three bytes can be one."""


class Span(msgspec.Struct, frozen=True, gc=False):
    """Bytes that belong to one field.

    Attributes:
        path: such as `topics[0].partitions[2].fetchOffset`; a length or count has the path of
            its field, a tag section the path `_tags` of its struct.
        offset: from the start of the bytes that were read.
        length: in bytes.
        value: the value as JSON shows it (bytes as `bytes`); for a count or length, the number.
    """

    path: str
    offset: int
    length: int
    value: Any


class Explanation(msgspec.Struct):
    """The result of the slow reader.

    Attributes:
        spans: the spans of all bytes, in wire order.
        body: the readable part of the message, in the form of `kdiag.wire.codec.json_form`.
        error: the reason that reading stopped early; None if it did not.
        end: the position after the last field that was read.
        needs: the position up to which reading would have needed bytes that are not here, where
            it stopped for want of them; else 0.
        is_limited: whether it stopped behind `most_elements`.
    """

    spans: list[Span]
    body: dict[str, Any]
    error: DecodeError | None
    end: int
    needs: int = 0
    is_limited: bool = False


def explain(  # noqa: PLR0913 - the last three only tune it
    cls: type[Struct],
    version: int,
    data: bytes,
    offset: int = 0,
    *,
    whole_bytes: int | None = None,
    only: str | None = None,
    most_elements: int | None = None,
) -> Explanation:
    """Return the field of every byte of the message at `offset`; never raises for wrong bytes.

    Args:
        cls: the message's class.
        version: the message's version.
        data: the bytes, which may be cut at the end.
        offset: the start of the message.
        whole_bytes: `len(data)` of the uncut bytes: counts are checked against it, so that the
            present elements of a cut array are still read.
        only: keep only the spans whose path ends with this. All spans together, one for each
            element of an array, are many times the size of the message.
        most_elements: stop behind so many elements of arrays, with an error that says so.

    Raises:
        ValueError: if the class has no such version.
    """
    check_version(cls, version)
    reader = _Reader(data, offset, version, flexible=is_flexible(cls, version))
    reader.whole_bytes = max(len(data), whole_bytes or 0)
    reader.only = only
    reader.most_elements = most_elements
    body: dict[str, Any] = {}
    error = None
    try:
        reader.read_struct(cls, body, "")
    except DecodeError as found:
        # Its traceback would keep the frames of all callers, and their values, alive.
        error = found.with_traceback(None)
    return Explanation(reader.spans, body, error, reader.position, reader.needs, reader.is_limited)


class _Reader:
    """A cursor over the bytes of one message."""

    def __init__(self, data: bytes, position: int, version: int, *, flexible: bool) -> None:
        self.data = data
        self.position = position
        self.version = version
        self.flexible = flexible
        self.whole_bytes = len(data)
        self.only: str | None = None
        self.most_elements: int | None = None
        self.elements = 0
        self.is_limited = False
        self.spans: list[Span] = []
        self.needs = 0

    def read_struct(self, cls: type[Struct], into: dict[str, Any], path: str) -> None:
        """Read a struct into the dictionary `into`, field by field."""
        for field in untagged(cls, self.version):
            self._read_into(into, field, _join(path, field.json_name))
        if not self.flexible:
            return
        known = {field.tag: field for field in tagged(cls, self.version)}
        for field in known.values():
            into[field.json_name] = _default_json(field, self.version)
        self._read_tags(known, into, path)

    def _read_into(self, into: dict[str, Any], field: Field, path: str) -> None:
        """Read one field; the part of a list or struct before a fault stays in `into`."""

        def keep(value: object) -> None:
            into[field.json_name] = value

        self._read_value(field, path, keep)

    def _read_value(self, field: Field, path: str, keep: Callable[[Any], None]) -> None:
        """Read a value and pass it to `keep`, containers before they are filled."""
        if field.is_array:
            self._read_array(field, path, keep)
        elif not isinstance(field.kind, Kind):
            self._read_nested(field, field.kind, path, keep)
        elif field.kind in _LAYOUTS:
            keep(self._read_fixed(field.kind, path))
        else:
            keep(self._read_sized(field, path))

    def _need(self, size: int, path: str) -> None:
        remaining = self._remaining
        if size > remaining:
            self.needs = self.position + size
            why = f"{size} bytes expected, {remaining} remain"
            raise DecodeError(path, self.position, why)

    def _read_fixed(self, kind: Kind, path: str) -> Any:
        layout = _LAYOUTS[kind]
        self._need(layout.size, path)
        (value,) = layout.unpack_from(self.data, self.position)
        if kind is Kind.UUID:
            value = uuid_text(value)
        elif kind is Kind.FLOAT64:
            value = float_json(value)
        self._took(path, layout.size, value)
        return value

    def _took(self, path: str, length: int, value: object) -> None:
        if self.only is None or path.endswith(self.only):
            self.spans.append(Span(path, self.position, length, value))
        self.position += length

    def _uvarint(self, path: str) -> tuple[int, int]:
        """Return an unsigned varint at the position and its length; the position stays."""
        value = 0
        for length in range(1, MAX_UVARINT_BYTES + 1):
            place = self.position + length - 1
            if place >= len(self.data):
                self.needs = place + 1
                raise DecodeError(path, place, "the bytes end inside a varint")
            byte = self.data[place]
            value |= (byte & 0x7F) << 7 * (length - 1)
            if byte < 0x80:  # noqa: PLR2004 - the continuation bit
                if value > 0xFFFFFFFF:  # noqa: PLR2004 - 32 bits
                    raise DecodeError(path, self.position, "a varint of more than 32 bits")
                return value, length
        raise DecodeError(path, self.position, "a varint of more than five bytes")

    def _read_length(self, field: Field, path: str) -> int:
        """Read a length or count; -1 is null."""
        if self.flexible and not field.is_never_compact:
            value, length = self._uvarint(path)
            size = value - 1
        else:
            kind = Kind.INT16 if field.kind is Kind.STRING and not field.is_array else Kind.INT32
            length = _LAYOUTS[kind].size
            self._need(length, path)
            (size,) = _LAYOUTS[kind].unpack_from(self.data, self.position)
        if size < 0 and not field.is_nullable_in(self.version):
            raise DecodeError(path, self.position, "null is not allowed here")
        self._took(path, length, max(size, -1))
        return max(size, -1)

    def _read_sized(self, field: Field, path: str) -> Any:
        size = self._read_length(field, path)
        if size < 0:
            return None
        self._need(size, path)
        raw = self.data[self.position : self.position + size]
        value = raw.decode("utf-8", "surrogateescape") if field.kind is Kind.STRING else raw
        if size:
            self._took(path, size, value)
        return value

    def _read_nested(
        self, field: Field, kind: type[Struct], path: str, keep: Callable[[Any], None]
    ) -> None:
        if field.is_nullable_in(self.version):
            is_tagged = field.is_tagged_in(self.version)
            self._need(1, path)
            marker = self.data[self.position]
            is_null = marker == 0 if is_tagged else marker > 127  # noqa: PLR2004 - an int8 below 0
            self._took(path, 1, None if is_null else marker)
            if is_null:
                keep(None)
                return
        into: dict[str, Any] = {}
        keep(into)
        self.read_struct(kind, into, path)

    def _read_array(self, field: Field, path: str, keep: Callable[[Any], None]) -> None:
        count = self._read_length(field, path)
        if count < 0:
            keep(None)
            return
        least = element_bytes(field, self.version, flexible=self.flexible)
        remaining = self.whole_bytes - self.position
        if count * least > remaining:
            why = f"{count} elements need at least {count * least} bytes, {remaining} remain"
            raise DecodeError(path, self.position, why)
        if self.only is not None and field.kind in UNPACKERS and count * least <= self._remaining:
            keep(self._read_numbers(field, count))
            return
        elements: list[Any] = []
        keep(elements)
        element = field._replace(is_array=False, nullable=())
        for index in range(count):
            if self.elements == self.most_elements:
                self.is_limited = True
                why = f"only the first {self.elements:,} elements were read"
                raise DecodeError(f"{path}[{index}]", self.position, why)
            self.elements += 1
            self._read_value(element, f"{path}[{index}]", elements.append)

    @property
    def _remaining(self) -> int:
        return len(self.data) - self.position

    def _read_numbers(self, field: Field, count: int) -> list[Any]:
        """Read the elements of a whole array of numbers in one call."""
        assert isinstance(field.kind, Kind)
        numbers = list(UNPACKERS[field.kind][count](self.data, self.position))
        self.position += count * SIZES[field.kind]
        return [float_json(each) for each in numbers] if field.kind is Kind.FLOAT64 else numbers

    def _read_tags(self, known: dict[int | None, Field], into: dict[str, Any], path: str) -> None:
        place = _join(path, "_tags")
        count, length = self._uvarint(place)
        self._took(place, length, count)
        remaining = self.whole_bytes - self.position
        if 2 * count > remaining:
            why = f"{count} tagged fields need at least {2 * count} bytes, {remaining} remain"
            raise DecodeError(place, self.position, why)
        unknown: dict[int, bytes] = {}
        for _ in range(count):
            tag, length = self._uvarint(place)
            self._took(place, length, tag)
            size, length = self._uvarint(place)
            self._took(place, length, size)
            self._need(size, f"{place}[{tag}]")
            if tag in known:
                self._read_known_tag(known[tag], size, into, path)
            else:
                end = self.position + size
                unknown[tag] = self.data[self.position : end]
                self._took(f"{place}[{tag}]", size, unknown[tag])
        if unknown:
            into["_unknownTaggedFields"] = unknown_tags_json(unknown)

    def _read_known_tag(self, field: Field, size: int, into: dict[str, Any], path: str) -> None:
        start = self.position
        place = _join(path, field.json_name)
        self._read_into(into, field, place)
        if self.position != start + size:
            why = f"the tag states {size} bytes, its field takes {self.position - start}"
            raise DecodeError(place, start, why)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def float_json(value: float) -> float | str:
    """Return a float as in Kafka's JSON: one that is not finite becomes a string."""
    if value != value:  # noqa: PLR0124 - NaN alone differs from itself
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def unknown_tags_json(tags: dict[int, bytes]) -> list[dict[str, Any]]:
    """Return unknown tagged fields in the form of kdiag's JSON."""
    return [{"tag": tag, "data": tags[tag]} for tag in sorted(tags)]


def _default_json(field: Field, version: int) -> Any:
    """Return a tagged field's default in the form of `kdiag.wire.codec.json_form`."""
    if isinstance(field.default, Struct):
        return {
            each.json_name: _default_json(each, version)
            for each in fields_of(type(field.default))
            if each.is_in(version)
        }
    if field.kind is Kind.UUID and isinstance(field.default, bytes):
        return uuid_text(field.default)
    if isinstance(field.default, list):
        return []
    return field.default
