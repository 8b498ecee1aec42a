"""Trial decoding: whether a frame is the response of an API and version.

A response does not name its API. Decoding it as one API after the other finds it: the body must
end where the frame ends, and hold values that a broker would send. A Heartbeat response v1 is

    throttle time   00 00 00 00      at most an hour
    error code            00 19      25 is UNKNOWN_MEMBER_ID; 0x1900 would be no error

An array of small integers can pass for a short response all the same, and one short response for
another. So the caller needs a second proof.
"""

import re
from collections.abc import Callable, Collection
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

from kdiag.errors import DecodeError
from kdiag.exchange.mentions import mentions_of
from kdiag.exchange.side import UNSUPPORTED_VERSION
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.explain import explain
from kdiag.wire.codec.messages import try_decode
from kdiag.wire.error_code import ERROR_BY_CODE
from kdiag.wire.header import read_response_header
from kdiag.wire.records.batches import read_batches
from kdiag.wire.schema import Field, Kind, Struct, fields_of

RequestKind = tuple[int, int]
"""The kind of a request: API key and version."""

_KINDS: Final[tuple[RequestKind, ...]] = tuple(
    (key, version)
    for key in sorted(API_BY_KEY)
    for version in reversed(range(API_BY_KEY[key].versions.low, API_BY_KEY[key].versions.high + 1))
)
"""All kinds of requests: the APIs of clients first, and of each the newest version."""

Check: TypeAlias = Callable[[Any], bool]
"""Returns whether a value makes sense."""

_VERSION_REFUSED: Final = UNSUPPORTED_VERSION.to_bytes(2)
_NO_ERROR_NO_API: Final = bytes(6)  # in every version the error and the count come first
_SOME_ID: Final = bytes(4)
_MAX_REMEMBERED: Final = 4096
_MAX_REMEMBERED_BYTES: Final = 256
_MAX_THROTTLE_MS: Final = 3_600_000
_MAX_ERROR_CODE: Final = max(ERROR_BY_CODE) + 50
_CORRUPTIBLE: Final = "PartitionProduceData"
"""Of a Produce request: with records that were corrupted it is a request all the same."""

_ODD: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def can_try(asked: RequestKind) -> bool:
    """Return whether the layout of the response to such a request is known."""
    api = API_BY_KEY.get(asked[0])
    return api is not None and api.versions.covers(asked[1])


def fitting_kinds(frame: bytes) -> tuple[RequestKind, ...]:
    """Return the kinds of requests that a frame is the response to, to its last byte."""
    if len(frame) > _MAX_REMEMBERED_BYTES:
        return tuple(kind for kind in _KINDS if is_whole_response(frame, kind))
    return _fitting_small(_SOME_ID + frame[len(_SOME_ID) :])


@lru_cache(_MAX_REMEMBERED)
def _fitting_small(frame: bytes) -> tuple[RequestKind, ...]:
    """Return the same of a short response, which differs from others by its correlation id."""
    return tuple(kind for kind in _KINDS if is_whole_response(frame, kind))


def common_error(frame: bytes, kinds: Collection[RequestKind]) -> int:
    """Return the first error code of a response that several kinds fit; 0 if they differ."""
    codes = set()
    for api_key, version in kinds:
        cls = API_BY_KEY[api_key].response_class()
        offset = _body_offset(frame, (api_key, version))
        message = None if offset is None else try_decode(cls, version, frame, offset)
        find = mentions_of(cls, version).first_error
        codes.add(0 if message is None or find is None else find(message))
    return codes.pop() if len(codes) == 1 else 0


def is_response_of_any(frame: bytes) -> bool:
    """Return whether a frame is the response of some API and version, to its last byte."""
    return any(is_whole_response(frame, kind) for kind in _KINDS)


def is_whole_response(frame: bytes, asked: RequestKind) -> bool:
    """Return whether a frame is the response to such a request, to its last byte.

    Args:
        frame: its bytes without the length.
        asked: the kind of the request; the result is False if its response has no known layout.
    """
    api_key, version = asked
    if not can_try(asked):
        return False
    offset = _body_offset(frame, asked)
    if offset is None:
        return False
    cls = API_BY_KEY[api_key].response_class()
    if api_key == api_keys.API_VERSIONS:
        if frame.startswith(_VERSION_REFUSED, offset):
            # A broker that does not know the version answers in the first one (KIP-511).
            return any(try_decode(cls, each, frame, offset) for each in (0, version))
        if frame.startswith(_NO_ERROR_NO_API, offset):
            return False
    message = try_decode(cls, version, frame, offset)
    return message is not None and is_sane(message)


def decodes_as_response(frame: bytes, asked: RequestKind) -> bool:
    """Return whether a frame may be the response to such a request, whatever its values are.

    Args:
        frame: its bytes without the length.
        asked: the kind of the request, with a known layout.
    """
    offset = _body_offset(frame, asked)
    cls = API_BY_KEY[asked[0]].response_class()
    return offset is not None and try_decode(cls, asked[1], frame, offset) is not None


def fits_as_response(head: bytes, size: int, asked: RequestKind) -> bool:
    """Return whether the first bytes of a frame contradict neither a response nor its size.

    Args:
        head: those bytes, without the length.
        size: the length.
        asked: the kind of the request; to one whose layout is not known all may be a response.
    """
    if not can_try(asked):
        return True
    if len(head) == size:
        return decodes_as_response(head, asked)
    offset = _body_offset(head, asked)
    if offset is None:
        return False
    return fits_so_far(API_BY_KEY[asked[0]].response_class(), asked[1], head, offset, size)


def fits_so_far(cls: type[Struct], version: int, head: bytes, offset: int, size: int) -> bool:
    """Return whether the first bytes of a body contradict neither its layout nor its size.

    Args:
        cls: the class of the body.
        version: of the message.
        head: the first bytes of the frame.
        offset: of the body in it.
        size: of the frame.
    """
    found = explain(cls, version, head, offset, whole_bytes=size)
    texts = (span.value for span in found.spans if isinstance(span.value, str))
    return 0 < found.needs <= size and all(map(is_text, texts))


def _body_offset(frame: bytes, asked: RequestKind) -> int | None:
    """Return where the body of a response begins; None if the frame ends before."""
    try:
        return read_response_header(frame, *asked).body_offset
    except DecodeError:
        return None


def is_sane(message: Struct) -> bool:
    """Return whether somebody would send such values: error codes, texts, records that make sense.

    Args:
        message: a message, or a struct inside one.
    """
    return all(check(getattr(message, name)) for name, check in _checks(type(message)))


def is_text(value: str) -> bool:
    """Return whether a string holds no control characters, and no bytes that are no UTF-8."""
    return _ODD.search(value) is None


@cache
def _checks(cls: type[Struct]) -> tuple[tuple[str, Check], ...]:
    """Return the fields of a class that can be wrong, each with its check."""
    found = []
    for field in fields_of(cls):
        if cls.__name__ == _CORRUPTIBLE and field.kind is Kind.RECORDS:
            continue
        check = _check_of(field)
        if check is not None:
            found.append((field.name, check))
    return tuple(found)


def _check_of(field: Field) -> Check | None:
    """Return the check of a field's value; None if any value makes sense."""
    check = _check_of_one(field)
    if check is None:
        return None
    return _of_each(check) if field.is_array else _unless_null(check)


def _check_of_one(field: Field) -> Check | None:
    """Return the check of a field's value, or of each of its values."""
    if not isinstance(field.kind, Kind):
        return is_sane
    if field.kind is Kind.INT16 and field.name.endswith("error_code"):
        return _is_error_code
    if field.name == "throttle_time_ms":
        return _is_throttle_time
    checks: dict[Kind, Check] = {Kind.STRING: is_text, Kind.RECORDS: _are_records}
    return checks.get(field.kind)


def _of_each(check: Check) -> Check:
    return lambda values: all(map(check, values or ()))


def _unless_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _is_error_code(value: int) -> bool:
    return -1 <= value <= _MAX_ERROR_CODE


def _is_throttle_time(value: int) -> bool:
    return 0 <= value <= _MAX_THROTTLE_MS


def _are_records(value: bytes) -> bool:
    """Return whether a field holds record batches whose checksums fit."""
    try:
        return all(batch.crc_ok for batch in read_batches(value).batches)
    except DecodeError:
        return False
