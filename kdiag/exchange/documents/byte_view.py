"""The byte view: every byte of a frame with the field that it belongs to.

    offset  length  path                       value
        -4       4  size                       152
         0       2  header.requestApiKey       0
         2       2  header.requestApiVersion   10
       ...
        61       8  topicData[0].partitionData[0].records[0].baseOffset   0

Offsets count from the first byte after the length prefix, as in every `why`. Record batches are
opened down to the fields of their headers; their records stay one span. Bytes without a field have
a path in parentheses.
"""

import re
from functools import cache
from struct import Struct as Layout
from typing import Final

from kdiag.errors import DecodeError
from kdiag.exchange.context.topic_names import CLUSTER_METADATA_ID
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange, LoginPhase, Status
from kdiag.exchange.secrets.redaction import (
    REDACTED,
    has_secrets,
    is_unknown_field,
    redact_spans,
)
from kdiag.exchange.side import Side, loss_text
from kdiag.wire import api_keys
from kdiag.wire.api.request_header import RequestHeader
from kdiag.wire.api.response_header import ResponseHeader
from kdiag.wire.catalog import API_BY_KEY, Api
from kdiag.wire.codec.explain import Span, explain
from kdiag.wire.frame import LENGTH_BYTES, Frame
from kdiag.wire.primitives import uuid_bytes
from kdiag.wire.records.batch import MAGIC_2, RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.internal import CLUSTER_METADATA
from kdiag.wire.schema import Kind, Struct, fields_of

LEFT_OVER: Final = "(left over)"
NOT_READ: Final = "(not read)"
MISSING: Final = "(missing)"

_METADATA_LOG: Final = (CLUSTER_METADATA.encode(), uuid_bytes(CLUSTER_METADATA_ID))
_INDEX: Final = re.compile(r"\[\d+\]")
_SIZED: Final = {Kind.STRING, Kind.BYTES, Kind.RECORDS}
_Field = tuple[str, str]
_HEADS: Final[dict[int, tuple[_Field, ...]]] = {
    0: (
        ("offset", "q"),
        ("messageSize", "i"),
        ("crc", "I"),
        ("magic", "b"),
        ("attributes", "b"),
    ),
    1: (
        ("offset", "q"),
        ("messageSize", "i"),
        ("crc", "I"),
        ("magic", "b"),
        ("attributes", "b"),
        ("timestamp", "q"),
    ),
    MAGIC_2: (
        ("baseOffset", "q"),
        ("batchLength", "i"),
        ("partitionLeaderEpoch", "i"),
        ("magic", "b"),
        ("crc", "I"),
        ("attributes", "h"),
        ("lastOffsetDelta", "i"),
        ("baseTimestamp", "q"),
        ("maxTimestamp", "q"),
        ("producerId", "q"),
        ("producerEpoch", "h"),
        ("baseSequence", "i"),
        ("recordsCount", "i"),
    ),
}
"""The fields of batch headers by magic: names as in Kafka's documentation, formats of `struct`."""


def view_side(
    dissection: Dissection, side: Side, *, is_response: bool, show_secrets: bool = False
) -> list[Span]:
    """Return the spans of a request or response, one for each field.

    Args:
        dissection: the exchange of the side.
        side: its request or response.
        is_response: whether it is the response.
        show_secrets: whether to show passwords and tokens.
    """
    frame = side.frame
    spans = [Span("size", -LENGTH_BYTES, LENGTH_BYTES, frame.size)]
    exchange = dissection.exchange
    api = None if exchange.api_key is None else API_BY_KEY.get(exchange.api_key)
    is_withheld = exchange.login is not LoginPhase.OVER and side.is_damaged
    if api is None or exchange.version is None or (is_withheld and not show_secrets):
        return _rest(spans, frame, 0, is_secret=not show_secrets)
    version = exchange.version
    if is_response:
        header_version = api.response_header_version(version)
        read = explain(ResponseHeader, header_version, frame.data, whole_bytes=frame.size)
    else:
        header_version = api.request_header_version(version)
        read = explain(RequestHeader, header_version, frame.data, whole_bytes=frame.size)
    is_secret = not show_secrets and _may_hold_secrets(exchange, api)
    for span in read.spans:
        is_hidden = is_secret and is_unknown_field(span)
        if span.path == "clientId" and isinstance(span.value, str):
            is_hidden = exchange.client_id is None and not show_secrets  # the frame is damaged
        value = REDACTED if is_hidden else span.value
        spans.append(Span(f"header.{span.path}", span.offset, span.length, value))
    end = read.end
    if read.error is None and side.message is not None:
        cls = api.response_class() if is_response else api.request_class()
        found = explain(cls, side.version, frame.data, end, whole_bytes=frame.size)
        end = found.end
        body = found.spans if show_secrets else _redacted(api, found.spans, is_response=is_response)
        sized = sized_paths(cls, side.version)
        for span in body:
            is_null = span.value == -1 and _INDEX.sub("", span.path) in sized
            spans += [Span(span.path, span.offset, span.length, None)] if is_null else _opened(span)
    is_left_over = side.status is Status.MALFORMED or side.ignored_bytes > 0
    return _rest(spans, frame, end, is_secret=is_secret, is_left_over=is_left_over)


def _may_hold_secrets(exchange: Exchange, api: Api) -> bool:
    """Return whether bytes without a field may be secret."""
    if api.key == api_keys.FETCH:
        # Records of the metadata log hold SCRAM credentials and passwords in configurations.
        frames = (exchange.request, exchange.response)
        return any(mark in frame.data for frame in frames if frame for mark in _METADATA_LOG)
    return has_secrets(api.key) or api.key == api_keys.ENVELOPE


@cache
def sized_paths(cls: type[Struct], version: int) -> frozenset[str]:
    """Return the paths, without indexes, of fields with a length or count, in which -1 is null."""
    paths = set()
    for field in fields_of(cls):
        if field.is_in(version):
            if field.is_array or field.kind in _SIZED:
                paths.add(field.json_name)
            if not isinstance(field.kind, Kind):
                inner = sized_paths(field.kind, version)
                paths.update(f"{field.json_name}.{each}" for each in inner)
    return frozenset(paths)


def _redacted(api: Api, spans: list[Span], *, is_response: bool) -> list[Span]:
    """Return the spans of a body with secrets redacted."""
    if api.key != api_keys.ENVELOPE:
        return redact_spans(api.key, spans, is_response=is_response)
    # A forwarded request may be one that sets passwords.
    return [
        Span(span.path, span.offset, span.length, REDACTED)
        if isinstance(span.value, bytes) and span.path in {"requestData", "responseData"}
        else span
        for span in spans
    ]


def _rest(
    spans: list[Span], frame: Frame, end: int, *, is_secret: bool, is_left_over: bool = False
) -> list[Span]:
    """Return the spans with those of the bytes after `end`, which belong to no field."""
    here = len(frame.data)
    if end < here:
        path = LEFT_OVER if is_left_over else NOT_READ
        value = REDACTED if is_secret else frame.data[end:here]
        spans.append(Span(path, end, here - end, value))
    if here < frame.size:
        lost = f"{frame.gap_bytes} bytes of it are not in the capture"
        lost = lost if frame.gap_bytes else loss_text(frame)
        spans.append(Span(MISSING, here, frame.size - here, lost))
    return spans


def _opened(span: Span) -> list[Span]:
    """Return the spans of the batches in a `records` field; any other span is returned as it is."""
    data = span.value
    if not isinstance(data, bytes) or not span.path.endswith(".records"):
        return [span]
    try:
        batches, trailing = read_batches(data)
    except DecodeError as error:
        batches, _ = read_batches(data[: error.offset])
        trailing = len(data) - sum(batch.size_in_bytes for batch in batches)
    spans: list[Span] = []
    for index, batch in enumerate(batches):
        spans += _batch_spans(batch, f"{span.path}[{index}]", span.offset)
    if trailing:
        path = f"{span.path}[{len(batches)}]"
        spans.append(Span(path, span.offset + len(data) - trailing, trailing, "(cut batch)"))
    return spans


def _batch_spans(batch: RecordBatch, path: str, start: int) -> list[Span]:
    """Return the spans of the fields of a batch's header, and one for its records."""
    spans = []
    position = batch.start
    for name, letter in _HEADS[batch.magic]:
        layout = Layout(f">{letter}")
        (value,) = layout.unpack_from(batch.data, position)
        spans.append(Span(f"{path}.{name}", start + position, layout.size, value))
        position += layout.size
    size = batch.start + batch.size_in_bytes - position
    is_new = batch.magic == MAGIC_2
    what = f"{size} bytes, {batch.compression}"
    spans.append(
        Span(f"{path}.({'records' if is_new else 'key and value'})", start + position, size, what)
    )
    return [span for span in spans if span.length]
