"""The formats of keys and values: as they are, or as the numbers, JSON or bytes that they hold.

What does not fit its format, such as three bytes where a number of four is expected, is written in
hexadecimal behind `0x` as text, and in JSON as it would be without the format.
"""

import struct
from base64 import b64encode
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

_encode = msgspec.json.Encoder().encode

_SCHEMA_ID: Final = struct.Struct(">BI")
_SCHEMA_GUID_BYTES: Final = 17
_INDENT: Final = 2


class ValueFormat(StrEnum):
    """The format of a key or a value.

    `schema` is the prefix that serializers with a schema registry put before Avro, Protobuf and
    JSON Schema: a zero byte and the number of the schema, or a one and its GUID.
    """

    AUTO = "auto"
    TEXT = "text"
    JSON = "json"
    SCHEMA = "schema"
    HEX = "hex"
    BASE64 = "base64"
    SHORT = "short"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"


_NUMBERS: Final = {
    ValueFormat.SHORT: struct.Struct(">h"),
    ValueFormat.INT: struct.Struct(">i"),
    ValueFormat.LONG: struct.Struct(">q"),
    ValueFormat.FLOAT: struct.Struct(">f"),
    ValueFormat.DOUBLE: struct.Struct(">d"),
}

Reader = Callable[[bytes], bytes]
"""Returns what bytes hold, as text or as JSON; ValueError if they hold no such thing."""


def text_of(form: ValueFormat, values: Sequence[bytes | None], *, is_pretty: bool) -> list[bytes]:
    """Return keys or values as text; nothing for null.

    Args:
        form: their format.
        values: the bytes.
        is_pretty: whether JSON may take several lines.
    """
    read = _text_reader(form, is_pretty=is_pretty)
    if read is None:
        return [each or b"" for each in values] if None in values else list(values)  # type: ignore[arg-type]
    return [b"" if each is None else _or_hex(read, each) for each in values]


def json_of(form: ValueFormat, value: bytes) -> bytes | None:
    """Return a key or a value in JSON; None if it is to be written as it is."""
    read = _json_reader(form)
    if read is None:
        return None
    try:
        return read(value)
    except ValueError:
        return None


def _or_hex(read: Reader, value: bytes) -> bytes:
    try:
        return read(value)
    except ValueError:
        return b"0x" + value.hex().encode()


def _text_reader(form: ValueFormat, *, is_pretty: bool) -> Reader | None:
    """Return what reads a value as text; None for what stays as it is."""
    if form is ValueFormat.JSON and is_pretty:
        return lambda value: msgspec.json.format(_json(value), indent=_INDENT)
    if form in _TEXT_READERS:
        return _TEXT_READERS[form]
    if form in _NUMBERS:
        return lambda value: _number(_NUMBERS[form], value).strip(b'"')  # of NaN
    return _json_reader(form)


def _json_reader(form: ValueFormat) -> Reader | None:
    """Return what reads a value as JSON; None for what stays as it is."""
    if form in _NUMBERS:
        return lambda value: _number(_NUMBERS[form], value)
    return _JSON_READERS.get(form)


def _number(layout: struct.Struct, value: bytes) -> bytes:
    if len(value) != layout.size:
        raise ValueError
    number = layout.unpack(value)[0]
    # JSON has no words for these; Kafka's own converters write strings.
    is_finite = number == number and abs(number) != float("inf")  # noqa: PLR0124 - NaN
    return _encode(number) if is_finite else _encode(_NOT_FINITE[repr(number)])


_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _json(value: bytes) -> bytes:
    """Return JSON in one line, each number as it was written."""
    try:
        msgspec.json.decode(value)  # `format` lets some through that are wrong
        return msgspec.json.format(value, indent=-1)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError from error


def _schema(value: bytes) -> tuple[dict[str, Any], bytes]:
    """Return which schema wrote a value, and the rest of it."""
    if len(value) >= _SCHEMA_GUID_BYTES and value[0] == 1:
        digits = value[1:_SCHEMA_GUID_BYTES].hex()
        guid = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
        return {"schema_guid": guid}, value[_SCHEMA_GUID_BYTES:]
    if len(value) < _SCHEMA_ID.size or value[0]:
        raise ValueError
    _, number = _SCHEMA_ID.unpack_from(value)
    return {"schema_id": number}, value[_SCHEMA_ID.size :]


def _schema_text(value: bytes) -> bytes:
    schema, rest = _schema(value)
    (name,) = schema.values()
    return f"schema {name}: ".encode() + b64encode(rest)


def _schema_json(value: bytes) -> bytes:
    schema, rest = _schema(value)
    return _encode({**schema, "data_b64": rest})


_TEXT_READERS: Final[dict[ValueFormat, Reader]] = {
    ValueFormat.HEX: lambda value: value.hex().encode(),
    ValueFormat.BASE64: b64encode,
    ValueFormat.SCHEMA: _schema_text,
}
_JSON_READERS: Final[dict[ValueFormat, Reader]] = {
    ValueFormat.JSON: _json,
    ValueFormat.SCHEMA: _schema_json,
    ValueFormat.HEX: lambda value: _encode(value.hex()),
    ValueFormat.BASE64: _encode,
}
