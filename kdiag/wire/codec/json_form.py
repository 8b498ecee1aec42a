"""Messages as Kafka's own JSON, the form of Kafka's request log, and back.

Every field of the version and no other, camelCase names, uuids in Kafka's base64, non-finite floats
as strings. `bytes` stay `bytes`: msgspec's JSON encoder writes them as base64. Unknown tagged
fields, which Kafka's converters leave out, appear as `_unknownTaggedFields` if there are any.

Source: the `*JsonConverter` classes that Kafka generates beside its messages.
"""

import math
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeVar

from kdiag.errors import EncodeError
from kdiag.wire.codec.explain import float_json, unknown_tags_json
from kdiag.wire.codec.layout import check_version, is_flexible
from kdiag.wire.primitives import uuid_bytes, uuid_text
from kdiag.wire.schema import Field, Kind, Struct, fields_of

S = TypeVar("S", bound=Struct)
UNKNOWN_TAGS = "_unknownTaggedFields"
_MAX_TAG = (1 << 32) - 1  # Kafka writes none above 2**31 - 1; strangers do


def to_json(message: Struct, version: int) -> dict[str, Any]:
    """Return a message in the form of Kafka's JSON, ready for `msgspec.json.encode`.

    Raises:
        ValueError: if the class has no such version.
    """
    return json_former(type(message), version)(message)


@cache
def json_former(cls: type[Struct], version: int) -> Callable[[Any], dict[str, Any]]:
    """Return the compiled `to_json(message)` of a class in a version: one nested expression."""
    check_version(cls, version)
    return struct_former(cls, version, is_flexible(cls, version))


@cache
def struct_former(
    cls: type[Struct],
    version: int,
    flexible: bool,  # noqa: FBT001 - cache key
) -> Callable[[Any], dict[str, Any]]:
    """Return the same for a struct in messages of a version, which may be flexible."""
    text = f"lambda m: {_struct_source(cls, version, 'm', 0, flexible=flexible)}"
    names = {"X": uuid_text, "F": float_json, "T": _tags_entry, "E": {}}
    former: Callable[[Any], dict[str, Any]] = eval(text, names)  # noqa: S307 - text from the schema
    return former


def _tags_entry(tags: dict[int, bytes]) -> dict[str, Any]:
    return {UNKNOWN_TAGS: unknown_tags_json(tags)}


def _struct_source(
    cls: type[Struct], version: int, source: str, depth: int, *, flexible: bool
) -> str:
    """Return an expression that builds the dictionary of a struct."""
    entries = [
        f'"{field.json_name}": '
        + _value_source(field, version, f"{source}.{field.name}", depth, flexible=flexible)
        for field in fields_of(cls)
        if field.is_in(version)
    ]
    if flexible:
        tags = f"{source}.unknown_tagged_fields"
        entries.append(f"**(T({tags}) if {tags} else E)")
    return "{" + ", ".join(entries) + "}"


def _value_source(field: Field, version: int, source: str, depth: int, *, flexible: bool) -> str:
    """Return an expression for the value of one field."""
    if field.is_array:
        element = f"e{depth}"
        single = field._replace(is_array=False, nullable=())
        inner = _value_source(single, version, element, depth + 1, flexible=flexible)
        form = source if inner == element else f"[{inner} for {element} in {source}]"
    elif not isinstance(field.kind, Kind):
        form = _struct_source(field.kind, version, source, depth, flexible=flexible)
    elif field.kind is Kind.UUID:
        form = f"X({source})"
    elif field.kind is Kind.FLOAT64:
        form = f"F({source})"
    else:
        form = source
    if form != source and field.is_nullable_in(version):
        return f"(None if {source} is None else {form})"
    return form


def from_json(cls: type[S], version: int, form: dict[str, Any]) -> S:
    """Return the message that Kafka's JSON describes; fields left out get their defaults.

    `bytes` are accepted as base64 text or as `bytes`.

    Raises:
        EncodeError: if a name is unknown or a value is not of its field's type.
        ValueError: if the class has no such version.
    """
    check_version(cls, version)
    return _struct_from(cls, version, form, "")


def _struct_from(cls: type[S], version: int, form: object, path: str) -> S:
    """Return the struct that a JSON object describes."""
    if not isinstance(form, dict):
        raise EncodeError(path, f"expected an object, got {type(form).__name__}")
    known = {field.json_name: field for field in fields_of(cls) if field.is_in(version)}
    values: dict[str, Any] = {}
    for name, value in form.items():
        place = f"{path}.{name}" if path else name
        if name == UNKNOWN_TAGS:
            values["unknown_tagged_fields"] = _tags_from(value, place)
        elif name in known:
            values[known[name].name] = _value_from(known[name], version, value, place)
        else:
            raise EncodeError(place, _why_unknown(cls, version, name))
    return cls(**values)


def _why_unknown(cls: type[Struct], version: int, name: str) -> str:
    """Return a sentence about an unknown field name, with the likely one."""
    why = f"version {version} has no such field"
    elsewhere = [field for field in fields_of(cls) if field.json_name == name]
    if elsewhere:
        return f"{why}, versions {', '.join(map(str, elsewhere[0].versions))} have it"
    known = [field.json_name for field in fields_of(cls) if field.is_in(version)]
    lowered = {each.lower(): each for each in known}
    plain = name.replace("_", "").replace("-", "").lower()
    near = [lowered[each] for each in get_close_matches(plain, lowered)]
    if near:
        return f"{why}; did you mean {' or '.join(near)}?"
    return f"{why}; it has {', '.join(known) or 'none'}"


def _tags_from(value: object, path: str) -> dict[int, bytes]:
    """Return the unknown tagged fields that a list of tags and data describes."""
    tags: dict[int, bytes] = {}
    for index, each in enumerate(value if isinstance(value, list) else [value]):
        match each:
            case {"tag": int(number), "data": data, **rest} if not rest and 0 <= number <= _MAX_TAG:
                tags[number] = _bytes_from(data, f"{path}[{index}].data")
            case _:
                raise EncodeError(path, 'expected a list of {"tag": number, "data": base64}')
    return tags


def _value_from(field: Field, version: int, value: Any, path: str) -> Any:
    """Return the Python value of a field's JSON value."""
    if value is None:
        return None
    if field.is_array:
        if not isinstance(value, list):
            raise EncodeError(path, f"expected a list, got {type(value).__name__}")
        single = field._replace(is_array=False)
        return [_value_from(single, version, e, f"{path}[{i}]") for i, e in enumerate(value)]
    if not isinstance(field.kind, Kind):
        return _struct_from(field.kind, version, value, path)
    convert = _CONVERSIONS.get(field.kind)
    if convert is not None:
        return convert(value, path)
    expected = _TYPES.get(field.kind, int)
    if type(value) is not expected:
        raise EncodeError(path, f"expected {field.kind.value}, got {type(value).__name__}")
    return value


def _uuid_from(value: Any, path: str) -> bytes:
    """Return the bytes of a uuid's text."""
    if not isinstance(value, str):
        raise EncodeError(path, f"expected a uuid, got {type(value).__name__}")
    try:
        return uuid_bytes(value)
    except ValueError as error:
        raise EncodeError(path, f"not a uuid: {error}") from None


def _float_from(value: object, path: str) -> float:
    """Return the float of a JSON number, or of the name of one that is not finite."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise EncodeError(path, "the number is too large") from None
    names = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    if isinstance(value, str) and value in names:
        return names[value]
    raise EncodeError(path, f"not a number: {value!r}")


def _bytes_from(value: object, path: str) -> bytes:
    """Return the bytes of base64 text."""
    if isinstance(value, bytes):
        return value
    try:
        return b64decode(value, validate=True)  # type: ignore[arg-type]  # TypeError is handled
    except (Base64Error, ValueError, TypeError) as error:
        raise EncodeError(path, f"not base64: {error}") from None


_TYPES: dict[Kind, type] = {Kind.BOOLEAN: bool, Kind.STRING: str}
"""The Python types of JSON values by kind, where that is not `int`."""

_CONVERSIONS: dict[Kind, Callable[[Any, str], Any]] = {
    Kind.BYTES: _bytes_from,
    Kind.RECORDS: _bytes_from,
    Kind.UUID: _uuid_from,
    Kind.FLOAT64: _float_from,
}
