"""The search for the value that cannot be written, after the compiled encoder failed."""

from collections.abc import Iterator

from kdiag.errors import EncodeError
from kdiag.wire.codec.layout import is_flexible
from kdiag.wire.schema import Field, Kind, Struct, fields_of

_RANGES = {
    Kind.INT8: (-(1 << 7), (1 << 7) - 1),
    Kind.INT16: (-(1 << 15), (1 << 15) - 1),
    Kind.UINT16: (0, (1 << 16) - 1),
    Kind.INT32: (-(1 << 31), (1 << 31) - 1),
    Kind.UINT32: (0, (1 << 32) - 1),
    Kind.INT64: (-(1 << 63), (1 << 63) - 1),
}
_TYPES: dict[Kind, tuple[type, ...]] = {
    Kind.BOOLEAN: (bool,),
    Kind.FLOAT64: (float, int),
    Kind.UUID: (bytes,),
    Kind.STRING: (str,),
    Kind.BYTES: (bytes, bytearray, memoryview),
    Kind.RECORDS: (bytes, bytearray, memoryview),
}
MAX_STRING_BYTES = 32767


def find_fault(message: Struct, version: int) -> EncodeError | None:
    """Return the first reason why a message cannot be written in a version; None without any."""
    flexible = is_flexible(type(message), version)
    return next(_faults(message, version, "", flexible=flexible), None)


def _faults(struct: Struct, version: int, path: str, *, flexible: bool) -> Iterator[EncodeError]:
    """Yield the faults of a struct, in field order."""
    known: set[int] = set()
    for field in fields_of(type(struct)):
        value = getattr(struct, field.name)
        place = f"{path}.{field.json_name}" if path else field.json_name
        if not field.is_in(version):
            if not field.is_ignorable and value != field.default:
                yield EncodeError(place, f"version {version} has no such field, it is {value!r}")
            continue
        if field.tag is not None and field.is_tagged_in(version):
            known.add(field.tag)
            if value == field.default:
                continue
        yield from _field_faults(field, value, version, place, flexible=flexible)
    unknown = struct.unknown_tagged_fields or {}
    if unknown and not flexible:
        yield EncodeError(path, f"version {version} has no tagged fields")
    for tag in sorted(known & unknown.keys()):
        yield EncodeError(path, f"tag {tag} is a field that version {version} knows")


def _field_faults(
    field: Field, value: object, version: int, place: str, *, flexible: bool
) -> Iterator[EncodeError]:
    """Yield the faults in the value of a field that the version has."""
    if value is None:
        if not field.is_nullable_in(version):
            yield EncodeError(place, f"null is not allowed in version {version}")
    elif not field.is_array:
        yield from _value_faults(field, value, version, place, flexible=flexible)
    elif isinstance(value, list | tuple):
        element = field._replace(is_array=False, nullable=())
        for index, each in enumerate(value):
            where = f"{place}[{index}]"
            yield from _field_faults(element, each, version, where, flexible=flexible)
    else:
        yield EncodeError(place, f"expected a list, got {type(value).__name__}")


def _value_faults(
    field: Field, value: object, version: int, place: str, *, flexible: bool
) -> Iterator[EncodeError]:
    """Yield the faults of a single value that is not null."""
    if isinstance(field.kind, Kind):
        why = _primitive_fault(field.kind, value)
        if not why and isinstance(value, str) and (not flexible or field.is_never_compact):
            size = len(value.encode("utf-8", "surrogateescape"))
            if size > MAX_STRING_BYTES:
                why = f"{size} bytes are more than a string holds ({MAX_STRING_BYTES})"
        if why:
            yield EncodeError(place, why)
    elif not isinstance(value, field.kind):
        yield EncodeError(place, f"expected {field.kind.__name__}, got {type(value).__name__}")
    else:
        yield from _faults(value, version, place, flexible=flexible)


def _primitive_fault(kind: Kind, value: object) -> str:
    """Return why a value is not one of a kind, or an empty string."""
    bounds = _RANGES.get(kind)
    if bounds is None:
        expected = _TYPES[kind]
        if isinstance(value, expected):
            return ""
        return f"expected {expected[0].__name__}, got {type(value).__name__}"
    if not isinstance(value, int):
        return f"expected {kind.value}, got {type(value).__name__}"
    low, high = bounds
    return "" if low <= value <= high else f"{value} is not of type {kind.value} ({low} to {high})"
