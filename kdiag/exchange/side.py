"""One side of an exchange, decoded: the request or the response, and how much of it is readable.

Reading never raises. A cut frame keeps the fields before the hole, a body that contradicts its
format keeps the fields before the contradiction, and both report where reading stopped and why.
A version that kdiag does not know is not decoded: a guessed layout would give values that look
right and are not.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from kdiag.errors import DecodeError
from kdiag.exchange.mentions import Mentions, mentions_of
from kdiag.exchange.model import Exchange, LoginPhase, Status
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY, NEWEST_KAFKA
from kdiag.wire.codec.explain import MOST_ELEMENTS, Explanation, explain
from kdiag.wire.codec.json_form import from_json
from kdiag.wire.codec.messages import decode_prefix, try_decode
from kdiag.wire.error_code import CODE_BY_NAME, ERROR_BY_CODE, error_name
from kdiag.wire.frame import DEFAULT_MAX_FRAME_BYTES, Frame
from kdiag.wire.header import read_request_header, read_response_header
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.schema import Struct, info_of

UNSUPPORTED_VERSION: Final = CODE_BY_NAME["UNSUPPORTED_VERSION"]

MOST_SHARED: Final = 64
"""How many messages are kept for other sides with the same bytes."""

_MOST_SHARED_BYTES: Final = 4096

_TOO_LARGE: Final = "that is above socket.request.max.bytes (100 MiB by default)"
_CLIENT_ID_START: Final = 10
_CORRELATION_ID_BYTES: Final = 4
_NULL_LENGTH: Final = 0x8000
_STEPS: Final = re.compile(r"[^.\[\]]+")


class Why(msgspec.Struct, frozen=True):
    """The reason that a side is not `ok`.

    Attributes:
        offset: where reading stopped, in bytes from the start of the frame (after its length).
        path: the field in which it stopped; empty outside of fields.
        reason: the expected bytes and those that were found.
    """

    offset: int
    path: str
    reason: str


class Side(msgspec.Struct, gc=False):
    """A request or a response, as far as it was readable.

    Attributes:
        frame: the bytes, and how TCP carried them.
        version: the version of the body: the request's, but 0 for the response of a broker that
            does not know the version of an ApiVersions request (KIP-511).
        body_offset: the start of the body in the frame.
        mentions: the compiled queries about the message.
        message: the decoded body; fields that were not reached have their defaults, and large
            `records` fields are views of the frame.
        batches: the whole record batches of each `records` field, in field order.
        status: `ok`, `partial`, `malformed`, `undecoded` or `opaque`.
        why: the reason that the status is not `ok`.
        ignored_bytes: bytes of a request behind its last field, which a broker does not read.
        body: the decoded part of an incomplete body, in the form of `codec.json_form`.
        is_shared: whether other sides with the same bytes have this very message.
    """

    frame: Frame
    version: int = -1
    body_offset: int = 0
    mentions: Mentions | None = None
    message: Any = None
    batches: list[list[RecordBatch] | None] = []
    status: Status = Status.OK
    why: Why | None = None
    ignored_bytes: int = 0
    body: dict[str, Any] | None = None
    is_shared: bool = False

    @property
    def note(self) -> str | None:
        """Return what is odd about a side that is read; None if nothing is."""
        if not self.ignored_bytes or self.status is Status.MALFORMED:
            return None
        bytes_text = "1 byte" if self.ignored_bytes == 1 else f"{self.ignored_bytes} bytes"
        return f"{bytes_text} more than v{self.version} has, Kafka ignores them"

    @property
    def is_damaged(self) -> bool:
        """Return whether the frame does not parse to its end; what is in its batches is no matter.

        A frame of which the capture lacks bytes is not damaged, nor is one with zeros behind its
        last field: clients send those (librdkafka before 1.4), no damage makes them.
        """
        if self.ignored_bytes and any(self.frame.data[-self.ignored_bytes :]):
            return True
        is_body_read = self.message is not None and self.body is None
        has_bad_batch = is_body_read and self.why is not None and bool(self.why.path)
        return self.status is Status.MALFORMED and not has_bad_batch


class _Body(NamedTuple):
    """The class and version of a body, and the queries about it.

    Attributes:
        is_request: whether it is a request's.
        is_repeated: whether the same bytes are likely to come again, as a broker tells every client
            of the same versions.
    """

    cls: type[Struct]
    version: int
    mentions: Mentions
    is_request: bool
    is_repeated: bool


class _Layout(NamedTuple):
    """The layout of both sides of an API version; the bodies are None if it is not known."""

    request_header: int
    request: _Body | None
    response_header: int
    response: _Body | None


@cache
def _layout(api_key: int, version: int) -> _Layout:
    api = API_BY_KEY.get(api_key)
    if api is None:
        return _Layout(2, None, 1, None)
    request = response = None
    if api.versions.covers(version):
        request, response = (
            _Body(cls, version, mentions_of(cls, version), is_request, is_repeated)
            for cls, is_request, is_repeated in (
                (api.request_class(), True, False),
                (api.response_class(), False, api_key == api_keys.API_VERSIONS),
            )
        )
    return _Layout(
        api.request_header_version(version),
        request,
        api.response_header_version(version),
        response,
    )


def read_request(exchange: Exchange) -> Side | None:
    """Return the request of an exchange; None if it was not seen."""
    frame = exchange.request
    if frame is None:
        return None
    if exchange.api_key is None or exchange.version is None:
        return _request_without_api(exchange, frame)
    layout = _layout(exchange.api_key, exchange.version)
    try:
        offset = _request_body_offset(frame.data, layout.request_header)
    except DecodeError as error:
        return _unreadable(frame, error)
    if layout.request is None:
        return _undecoded(exchange, frame, offset)
    return _shown(exchange, _read_body(layout.request, frame, offset))


def read_response(exchange: Exchange) -> Side | None:
    """Return the response of an exchange; None if there is none."""
    frame = exchange.response
    if frame is None:
        return None
    if exchange.api_key is None or exchange.version is None:
        return _response_without_api(exchange, frame)
    layout = _layout(exchange.api_key, exchange.version)
    if exchange.api_key == api_keys.API_VERSIONS:
        fallback = _read_version_refusal(frame)
        if fallback is not None:
            return fallback
    try:
        offset = _response_body_offset(frame.data, exchange, layout.response_header)
    except DecodeError as error:
        return _unreadable(frame, error)
    if layout.response is None:
        return _undecoded(exchange, frame, offset)
    return _shown(exchange, _read_body(layout.response, frame, offset))


def _request_body_offset(data: bytes, header_version: int) -> int:
    """Return where the body starts; the usual header is skipped without decoding all of it.

    Raises:
        DecodeError: if the bytes end inside the header.
    """
    if header_version and len(data) > _CLIENT_ID_START:
        length = data[8] << 8 | data[9]
        offset = _CLIENT_ID_START + (length if length < _NULL_LENGTH else 0)
        if header_version == 1 and offset <= len(data):
            return offset
        if offset < len(data) and data[offset] == 0:
            return offset + 1
    return read_request_header(data).body_offset


def _response_body_offset(data: bytes, exchange: Exchange, header_version: int) -> int:
    """Return where the body starts.

    Raises:
        DecodeError: if the bytes end inside the header.
    """
    if len(data) > _CORRELATION_ID_BYTES:
        if not header_version:
            return _CORRELATION_ID_BYTES
        if data[_CORRELATION_ID_BYTES] == 0:
            return _CORRELATION_ID_BYTES + 1
    assert exchange.api_key is not None
    assert exchange.version is not None
    return read_response_header(data, exchange.api_key, exchange.version).body_offset


def _read_body(body: _Body, frame: Frame, offset: int) -> Side:
    """Return the side with a body of a known class and version."""
    cls, version, mentions, is_request, is_repeated = body
    data = frame.data
    if len(data) != frame.size:
        side = Side(frame, version, offset, mentions)
        _read_cut(cls, side)
        if is_request and frame.size > DEFAULT_MAX_FRAME_BYTES and side.why is not None:
            reason = f"{side.why.reason}; {_TOO_LARGE}"
            side.why = msgspec.structs.replace(side.why, reason=reason)
    else:
        try:
            is_shared = is_repeated and len(data) <= _MOST_SHARED_BYTES
            if is_shared:
                message, end = _decode_once(cls, version, offset, data[offset:])
            else:
                message, end = decode_prefix(cls, version, data, offset, views=True)
            side = Side(frame, version, offset, mentions, message, is_shared=is_shared)
            if end != len(data) and is_request:
                side.ignored_bytes = len(data) - end
            elif end != len(data):
                _leave_over(side, end)
        except DecodeError as error:
            side = Side(frame, version, offset, mentions, status=Status.MALFORMED)
            side.why = Why(error.offset, error.path, error.why)
            _keep_readable_part(cls, side, _explain(cls, side))
        if side.status is Status.MALFORMED and not is_request:
            _note_other_version(cls, side)
    if mentions.records is not None:
        _read_records(cls, mentions.records, side)
    return side


@lru_cache(MOST_SHARED)
def _decode_once(cls: type[Struct], version: int, offset: int, body: bytes) -> tuple[Any, int]:
    """Return what `decode_prefix` does, the same message where a body comes again.

    Args:
        cls: the message's class.
        version: the message's version.
        offset: of the body, behind a header that differs each time.
        body: the bytes from there on.

    Raises:
        DecodeError: as it does.
    """
    return decode_prefix(cls, version, bytes(offset) + body, offset)


def _read_cut(cls: type[Struct], side: Side) -> None:
    """Read the present part of a body with missing bytes."""
    frame = side.frame
    found = _explain(cls, side)
    stop = found.error or DecodeError("", found.end, "the rest")
    if stop.path.endswith("records") and found.spans and found.spans[-1].path == stop.path:
        _place(found.body, stop.path, frame.data[stop.offset :])
    side.status = Status.PARTIAL
    rest = f"; {stop.why}" if found.is_limited else ""
    side.why = Why(stop.offset, stop.path, loss_text(frame) + rest)
    _keep_readable_part(cls, side, found)


def _explain(cls: type[Struct], side: Side) -> Explanation:
    """Read a body again, field by field, to find where it breaks or where its `records` are."""
    frame = side.frame
    return explain(
        cls,
        side.version,
        frame.data,
        side.body_offset,
        whole_bytes=frame.size,
        only="records",
        most_elements=MOST_ELEMENTS,
    )


def _keep_readable_part(cls: type[Struct], side: Side, found: Explanation) -> None:
    side.body = found.body
    side.message = from_json(cls, side.version, found.body)


def loss_text(frame: Frame) -> str:
    """Return why a frame is not whole."""
    size = frame.size
    if frame.gap_bytes:
        return f"{frame.gap_bytes} of {size} bytes are missing, from byte {len(frame.data)} on"
    if frame.unsent_bytes:
        return f"{size - frame.unsent_bytes} of {size} bytes were sent before the end"
    return f"the first {len(frame.data)} of {size} bytes are kept, for more is above the limit"


def _place(body: Any, path: str, value: bytes) -> None:
    """Put a value at a path such as `topicData[0].partitionData[1].records`."""
    *steps, last = _STEPS.findall(path)
    for step in steps:
        body = body[int(step)] if step.isdigit() else body[step]
    body[last] = value


def _read_records(
    cls: type[Struct],
    find_records: Callable[[Any, Callable[[bytes | memoryview | None], object]], None],
    side: Side,
) -> None:
    """Read the batch headers in a side's `records` fields."""
    fields: list[bytes | memoryview | None] = []
    find_records(side.message, fields.append)
    for index, data in enumerate(fields):
        if data is None:
            side.batches.append(None)
            continue
        fault = None
        try:
            read, trailing = read_batches(data)
            # A Fetch response may end inside a batch, a Produce request may not.
            if trailing and side.status is Status.OK and info_of(cls).api_key == api_keys.PRODUCE:
                fault = DecodeError("", len(data) - trailing, f"{trailing} bytes of a cut batch")
        except DecodeError as error:
            read, fault = read_batches(data[: error.offset])[0], error.with_traceback(None)
        if fault is not None:
            _blame_records(cls, side, fault, index)
        side.batches.append(read)


def _blame_records(cls: type[Struct], side: Side, error: DecodeError, index: int) -> None:
    """Mark a side malformed because of its `records` field number `index`."""
    if side.status is Status.MALFORMED:
        return
    found = _explain(cls, side)
    spans = [
        span
        for span in found.spans
        if span.path.endswith("records") and not (isinstance(span.value, int) and span.value > 0)
    ]
    if index < len(spans):
        path, start = spans[index].path, spans[index].offset
    else:
        assert side.why is not None  # the field is cut
        path, start = side.why.path, side.why.offset
    place = ".".join(filter(None, (path, error.path)))
    side.status, side.why = Status.MALFORMED, Why(start + error.offset, place, error.why)


def _read_version_refusal(frame: Frame) -> Side | None:
    """Return an ApiVersions response in version 0, whatever the request's version; None if not.

    A broker that does not know the version of the request cannot respond in it.
    """
    offset = _CORRELATION_ID_BYTES
    if frame.data[offset : offset + 2] != UNSUPPORTED_VERSION.to_bytes(2) or not frame.is_whole:
        return None
    cls = API_BY_KEY[api_keys.API_VERSIONS].response_class()
    try:
        message, end = decode_prefix(cls, 0, frame.data, offset)
    except DecodeError:
        return None
    if end != len(frame.data):
        return None
    return Side(frame, 0, offset, mentions_of(cls, 0), message)


def _undecoded(exchange: Exchange, frame: Frame, offset: int) -> Side:
    """Return a side of an unknown API or version, with its body left alone."""
    assert exchange.api_key is not None
    api = API_BY_KEY.get(exchange.api_key)
    if api is None:
        what = f"API key {exchange.api_key} (not known up to Kafka {NEWEST_KAFKA})"
    else:
        what = f"{api.name} v{exchange.version} (newest known {api.versions.high})"
    side = _closed(frame, Status.UNDECODED, f"{what}, {max(frame.size - offset, 0)} body bytes")
    side.body_offset = offset
    return side


def _unreadable(frame: Frame, error: DecodeError) -> Side:
    """Return a side with an unreadable header."""
    if frame.is_whole:
        why = Why(error.offset, error.path, error.why)
        return Side(frame, status=Status.MALFORMED, why=why)
    why = Why(error.offset, error.path, loss_text(frame))
    return Side(frame, status=Status.PARTIAL, why=why)


def _request_without_api(exchange: Exchange, frame: Frame) -> Side:
    """Return a request of an unknown API."""
    if exchange.pairing is Status.OPAQUE:
        return _closed(frame, Status.OPAQUE, _hidden_text(exchange, frame))
    try:
        read_request_header(frame.data)
    except DecodeError as error:
        return _unreadable(frame, error)
    return _closed(frame, Status.UNDECODED, "what it asks is not known")


def _response_without_api(exchange: Exchange, frame: Frame) -> Side:
    """Return a response to an unknown request."""
    if exchange.pairing is Status.OPAQUE:
        return _closed(frame, Status.OPAQUE, _hidden_text(exchange, frame))
    if exchange.request is None:
        why = "the request that it answers was not seen"
        if exchange.guessed_versions is not None:
            low, high = exchange.guessed_versions
            why += f"; its bytes are those of v{low} to v{high}"
        return _closed(frame, Status.UNMATCHED, why)
    return _closed(frame, Status.UNDECODED, "the request that it answers cannot be read")


def _note_other_version(cls: type[Struct], side: Side) -> None:
    """Name the version of a malformed response's API in which its body makes sense (KAFKA-3427)."""
    api_key = info_of(cls).api_key
    assert api_key is not None
    assert side.why is not None
    api, data = API_BY_KEY[api_key], side.frame.data
    versions = range(api.versions.low, api.versions.high + 1)
    for version in sorted(versions, key=lambda each: (abs(each - side.version), each)):
        try:
            offset = read_response_header(data, api_key, version).body_offset
        except DecodeError:
            continue
        message = try_decode(cls, version, data, offset)
        find = mentions_of(cls, version).first_error
        code = 0 if message is None or find is None else find(message)
        if message is not None and (not code or code in ERROR_BY_CODE):
            what = f": {error_name(code)}" if code else ""
            reason = f"{side.why.reason}; malformed as v{side.version}, reads as v{version}{what}"
            side.why = msgspec.structs.replace(side.why, reason=reason)
            return


def _leave_over(side: Side, end: int) -> None:
    """Mark a side malformed that has bytes behind its last field."""
    side.status = Status.MALFORMED
    side.why = Why(end, "", f"{len(side.frame.data) - end} bytes are left over")


def _shown(exchange: Exchange, side: Side) -> Side:
    """Return a side without its fields if it is damaged, and a login may be in them."""
    if exchange.login is LoginPhase.OVER or not side.is_damaged:
        return side
    hidden = Side(side.frame, side.version, side.body_offset, status=side.status, why=side.why)
    if side.ignored_bytes:
        hidden.ignored_bytes = side.ignored_bytes
        _leave_over(hidden, len(side.frame.data) - side.ignored_bytes)
    return hidden


def _hidden_text(exchange: Exchange, frame: Frame) -> str:
    """Return what a frame is of which no output shows more than its size."""
    if exchange.correlation_id is None:
        return f"a SASL token of {frame.size} bytes"
    return f"{frame.size} bytes that may hold a password: no login has succeeded before them"


def closed_by_fault(frame: Frame | None, reason: str) -> Side | None:
    """Return a side that kdiag fails to read; None without a frame."""
    return None if frame is None else Side(frame, status=Status.MALFORMED, why=Why(0, "", reason))


def _closed(frame: Frame, status: Status, reason: str) -> Side:
    """Return a side that is not decoded."""
    if not frame.is_whole:
        status = Status.PARTIAL
        reason += f"; {loss_text(frame)}"
    return Side(frame, status=status, why=Why(0, "", reason))
