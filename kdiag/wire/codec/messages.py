"""Messages from bytes and bytes from messages: compiled once for each (class, version).

    >>> from kdiag.wire.api.find_coordinator import FindCoordinatorRequest
    >>> data = encode(FindCoordinatorRequest(coordinator_keys=["orders"]), 4)
    >>> data.hex()
    '0002076f726465727300'
    >>> decode(FindCoordinatorRequest, 4, data).coordinator_keys
    ['orders']

The compiled functions are fast and tell only *that* something is wrong. `codec.explain`, by reading
again, and `codec.encode_check`, by walking the value, find where and why.

A string that is not UTF-8 keeps its bytes as lone surrogates (PEP 383), so it encodes back to the
same bytes.
"""

import struct
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar

from kdiag.errors import DecodeError, EncodeError
from kdiag.wire.codec.decoder import DecoderSource
from kdiag.wire.codec.encode_check import find_fault
from kdiag.wire.codec.encoder import REFUSALS, EncoderSource
from kdiag.wire.codec.explain import MOST_ELEMENTS, NO_SPAN, explain
from kdiag.wire.codec.layout import check_version
from kdiag.wire.primitives import RefusedError
from kdiag.wire.schema import Struct

S = TypeVar("S", bound=Struct)

_WRONG_BYTES: Final = (struct.error, IndexError, RefusedError)


def decode(cls: type[S], version: int, data: bytes, offset: int = 0) -> S:
    """Return the message in `data` from `offset` to the end.

    Raises:
        DecodeError: if the bytes are not exactly one such message.
        ValueError: if the class has no such version.
    """
    value, end = decode_prefix(cls, version, data, offset)
    if end != len(data):
        raise DecodeError("", end, f"{len(data) - end} bytes are left over")
    return value


def decode_prefix(
    cls: type[S], version: int, data: bytes, offset: int = 0, *, views: bool = False
) -> tuple[S, int]:
    """Return the message that starts at `offset` of `data`, and the position after it.

    Args:
        cls: the message's class.
        version: the message's version.
        data: the bytes.
        offset: the start of the message.
        views: whether large `records` fields may be views of `data` instead of copies.

    Raises:
        DecodeError: if no such message starts there.
        ValueError: if the class has no such version.
    """
    try:
        try:
            return decoder(cls, version, "strict", views)(data, offset, len(data))  # type: ignore[return-value]
        except UnicodeDecodeError:
            lenient = decoder(cls, version, "surrogateescape", views)
            return lenient(data, offset, len(data))  # type: ignore[return-value]
    except _WRONG_BYTES as error:
        found = explain(cls, version, data, offset, only=NO_SPAN, most_elements=MOST_ELEMENTS).error
        if found is None:
            raise AssertionError(f"{cls.__name__} v{version} refused {data.hex()}") from error
        raise found from None


def try_decode(cls: type[S], version: int, data: bytes, offset: int = 0) -> S | None:
    """Return the message in `data` from `offset` to the end; None if there is none.

    For trial decoding, which mostly fails: a failure is cheap because its place is not searched.

    Raises:
        ValueError: if the class has no such version.
    """
    try:
        value, end = decoder(cls, version)(data, offset, len(data))
    except (*_WRONG_BYTES, UnicodeDecodeError):
        return None
    return value if end == len(data) else None  # type: ignore[return-value]


def try_decode_prefix(
    cls: type[S], version: int, data: bytes, offset: int = 0
) -> tuple[S, int] | None:
    """Return what `decode_prefix` does; None, as cheap as `try_decode`, if there is no message.

    Raises:
        ValueError: if the class has no such version.
    """
    try:
        try:
            return decoder(cls, version)(data, offset, len(data))  # type: ignore[return-value]
        except UnicodeDecodeError:
            lenient = decoder(cls, version, "surrogateescape")
            return lenient(data, offset, len(data))  # type: ignore[return-value]
    except _WRONG_BYTES:
        return None


def encode(message: Struct, version: int) -> bytes:
    """Return the bytes of a message in a version.

    Raises:
        EncodeError: if a value cannot be written in that version.
        ValueError: if the class has no such version.
    """
    parts = encode_parts(message, version)
    try:
        return b"".join(parts)
    except TypeError as error:
        raise _encode_error(message, version, error) from error


def encode_parts(message: Struct, version: int) -> list[bytes]:
    """Return the bytes of a message in a version, in parts.

    A part is the very object that a field of bytes or records holds, which may be anything that
    has a length: what lies in a file is not read.

    Raises:
        EncodeError: if a value cannot be written in that version.
        ValueError: if the class has no such version.
    """
    parts: list[bytes] = []
    try:
        try:
            encoder(type(message), version)(message, parts.append)
        except UnicodeEncodeError:
            parts.clear()
            encoder(type(message), version, "surrogateescape")(message, parts.append)
    except REFUSALS as error:
        raise _encode_error(message, version, error) from error
    return parts


@cache
def decoder(
    cls: type[Struct],
    version: int,
    errors: str = "strict",
    views: bool = False,  # noqa: FBT001, FBT002 - cache key
) -> Callable[[bytes, int, int], tuple[Struct, int]]:
    """Return the compiled `decode(data, position, end) -> (message, position)`.

    It raises IndexError, struct.error, RefusedError or, with `errors="strict"`,
    UnicodeDecodeError for wrong bytes; `end` is the length of `data`. With `views`, large `records`
    fields are views of it.
    """
    check_version(cls, version)
    source = DecoderSource(cls, version, errors=errors, views=views)
    compiled: Callable[[bytes, int, int], tuple[Struct, int]] = _compile(
        source.text, source.names, f"<decode {cls.__name__} v{version}>", "decode"
    )
    return compiled


@cache
def encoder(
    cls: type[Struct], version: int, errors: str = "strict"
) -> Callable[[Struct, Callable[[bytes], None]], None]:
    """Return the compiled `encode(message, write)`; it raises one of `REFUSALS`."""
    check_version(cls, version)
    source = EncoderSource(cls, version, errors=errors)
    compiled: Callable[[Struct, Callable[[bytes], None]], None] = _compile(
        source.text, source.names, f"<encode {cls.__name__} v{version}>", "encode"
    )
    return compiled


def _encode_error(message: Struct, version: int, error: Exception) -> EncodeError:
    """Return which value cannot be written, and why."""
    return find_fault(message, version) or EncodeError(type(message).__name__, str(error))


def _compile(text: str, names: dict[str, Any], file: str, name: str) -> Any:
    """Return the function in a generated source."""
    exec(compile(text, file, "exec"), names)  # noqa: S102 - the text comes from the schema alone
    return names[name]
