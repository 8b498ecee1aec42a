"""Masking: secrets in the bytes of frames are overwritten in place, so that lengths stay.

People pass captures on more easily than passwords. The fields that `redaction` calls secret become
`x` byte for byte, and the frame still decodes; bytes that are not understood and may hold secrets
become `x` as a whole. Of a damaged frame, and of one that may be a part of a login, only the first
fields stay: API key, version and correlation id.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from kdiag.errors import DecodeError, EncodeError
from kdiag.exchange.context.topic_names import CLUSTER_METADATA_ID
from kdiag.exchange.model import Exchange, LoginPhase, Status
from kdiag.exchange.secrets.redaction import (
    RECORD_SECRETS,
    REDACTED,
    has_secrets,
    is_secret_config,
    is_unknown_field,
    redact_body,
)
from kdiag.exchange.side import read_request, read_response
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY, Api
from kdiag.wire.codec.explain import Explanation, Span, explain
from kdiag.wire.codec.messages import encode
from kdiag.wire.frame import Frame
from kdiag.wire.header import REQUEST_START, read_request_header, read_response_header
from kdiag.wire.records.batch import HEADER_BYTES, MAGIC_2, RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.internal import CLUSTER_METADATA, InternalRecord, read_metadata_record
from kdiag.wire.records.record import CODEC_MASK, Record
from kdiag.wire.records.writer import write_batch
from kdiag.wire.schema import Struct, fields_of

_ENVELOPE_DATA: Final = frozenset({"requestData", "responseData"})
_CORRELATION_ID_BYTES: Final = 4
_STEPS: Final = re.compile(r"[^.\[\]]+")
_METADATA_LOG: Final = frozenset({CLUSTER_METADATA, CLUSTER_METADATA_ID})

Mask = tuple[int, bytes]
"""An offset in a frame, and the bytes to write there."""


def mask_secrets(exchange: Exchange) -> Exchange:
    """Return the exchange with every secret in its frames overwritten."""
    request = exchange.request and _masked(exchange, exchange.request, is_response=False)
    response = exchange.response and _masked(exchange, exchange.response, is_response=True)
    if request is exchange.request and response is exchange.response:
        return exchange
    return replace(exchange, request=request, response=response)


def frame_masks(exchange: Exchange, frame: Frame, *, is_response: bool) -> list[Mask]:
    """Return what overwrites the secrets in one frame of an exchange."""
    found = _masks(exchange, frame.data, frame.size, is_response=is_response)
    return [(offset, mask) for offset, mask in found if mask]


def may_hold_secrets(exchange: Exchange) -> bool:
    """Return whether bytes of an exchange that are not known may be secret."""
    if exchange.pairing is Status.OPAQUE or exchange.api_key not in API_BY_KEY:
        return True
    if exchange.api_key == api_keys.FETCH:
        return _reads_metadata_log(exchange)
    return exchange.api_key == api_keys.ENVELOPE or has_secrets(exchange.api_key)


def _masked(exchange: Exchange, frame: Frame, *, is_response: bool) -> Frame:
    masks = frame_masks(exchange, frame, is_response=is_response)
    if not masks:
        return frame
    data = bytearray(frame.data)
    for offset, mask in masks:
        data[offset : offset + len(mask)] = mask
    return replace(frame, data=bytes(data))


def _masks(
    exchange: Exchange, data: bytes, whole_bytes: int, *, is_response: bool
) -> Iterator[Mask]:
    """Yield the masks for the bytes of a frame that are, or may be, secret."""
    is_whole = len(data) == whole_bytes
    try:
        start = _body_offset(exchange, data, is_response=is_response)
    except DecodeError:
        if not is_whole and exchange.pairing is not Status.OPAQUE:
            return  # it ends in the header, which holds no secrets
        start = len(data)
    if exchange.pairing is Status.OPAQUE or (
        is_whole and _is_damaged(exchange, is_response=is_response)
    ):
        yield _rest(data, _head_bytes(exchange, data, is_response=is_response))
        return
    api = None if exchange.api_key is None else API_BY_KEY.get(exchange.api_key)
    if api is None or exchange.version is None or not api.versions.covers(exchange.version):
        yield _rest(data, start)
        return
    request = None if is_response or not is_whole else read_request(exchange)
    if request is not None and request.ignored_bytes:
        yield _rest(data, len(data) - request.ignored_bytes)
    if api.key == api_keys.FETCH:
        if not (is_response and _reads_metadata_log(exchange)):
            return
    elif api.key != api_keys.ENVELOPE and not has_secrets(api.key):
        return
    cls = api.response_class() if is_response else api.request_class()
    read = explain(cls, exchange.version, data, start, whole_bytes=whole_bytes)
    yield from _in_body(api, read, is_response=is_response)
    yield _rest(data, read.end)


def _head_bytes(exchange: Exchange, data: bytes, *, is_response: bool) -> int:
    """Return how many bytes of a hidden frame stay: its first fields, if they make sense.

    A bare token has none, nor has what only looks like a frame.
    """
    if exchange.correlation_id is None or len(data) < REQUEST_START.size:
        return 0
    if is_response:
        return _CORRELATION_ID_BYTES
    api_key, version, _ = REQUEST_START.unpack_from(data)
    api = API_BY_KEY.get(api_key)
    return REQUEST_START.size if api is not None and api.versions.covers(version) else 0


def _is_damaged(exchange: Exchange, *, is_response: bool) -> bool:
    """Return whether a whole frame does not parse to its last byte."""
    side = read_response(exchange) if is_response else read_request(exchange)
    if side is None or (side.note is not None and exchange.login is LoginPhase.OVER):
        return False  # the bytes that a broker ignores are masked, those before them are proven
    return side.is_damaged


def _body_offset(exchange: Exchange, data: bytes, *, is_response: bool) -> int:
    if not is_response:
        return read_request_header(data).body_offset
    if exchange.api_key is None or exchange.version is None:
        return _CORRELATION_ID_BYTES
    return read_response_header(data, exchange.api_key, exchange.version).body_offset


def _reads_metadata_log(exchange: Exchange) -> bool:
    """Return whether a Fetch may read the metadata log."""
    frames = (exchange.request, exchange.response)
    marks = (CLUSTER_METADATA.encode(), bytes(15) + b"\x01")
    return any(mark in frame.data for frame in frames if frame for mark in marks)


def _in_body(api: Api, read: Explanation, *, is_response: bool) -> Iterator[Mask]:
    if api.key == api_keys.FETCH:
        for span in read.spans:
            if isinstance(span.value, bytes) and _is_metadata_log(span, read.body):
                yield span.offset, _without_record_secrets(span.value)
        return
    redact_body(api.key, read.body, is_response=is_response)
    for span in read.spans:
        # The span of a length or count has the path of its field, and a number as its value.
        if isinstance(span.value, bytes | str) and (
            _value_at(read.body, span.path) == REDACTED
            or is_unknown_field(span)
            or (api.key == api_keys.ENVELOPE and span.path in _ENVELOPE_DATA)
        ):
            yield span.offset, b"x" * span.length


def _value_at(body: Any, path: str) -> object:
    """Return the value at a path such as `resources[0].configs[1].value`; None if there is none."""
    for step in _STEPS.findall(path):
        if isinstance(body, list):
            body = body[int(step)]
        elif isinstance(body, dict):
            body = body.get(step)
    return body


def _is_metadata_log(span: Span, body: dict[str, Any]) -> bool:
    """Return whether a span holds records of the metadata log: `responses[2].partitions[0]...`."""
    if not span.path.endswith(".records"):
        return False
    index = int(span.path.partition("[")[2].partition("]")[0])
    topic = body["responses"][index]
    return not _METADATA_LOG.isdisjoint({topic.get("topic"), topic.get("topicId")})


def _without_record_secrets(data: bytes) -> bytes:
    """Return the batches of the metadata log with the secrets in their records masked."""
    masked = bytearray(data)
    try:
        batches, trailing = read_batches(data)
    except DecodeError:
        return b"x" * len(data)
    for batch in batches:
        end = batch.start + batch.size_in_bytes
        masked[batch.start : end] = _without_batch_secrets(batch)
    if trailing:
        masked[-trailing:] = b"x" * trailing
    return bytes(masked)


def _without_batch_secrets(batch: RecordBatch) -> bytes:
    """Return a batch with its secrets masked; the records of an unreadable one are masked whole."""
    data = bytes(batch.data[batch.start : batch.start + batch.size_in_bytes])
    if batch.is_control:
        return data
    if batch.magic == MAGIC_2 and not batch.attributes & CODEC_MASK:
        try:
            records = [_without_secrets(each) for each in batch.records(stored_timestamps=True)]
            written = write_batch(records, batch.header())
        except (DecodeError, EncodeError):
            written = b""
        if len(written) == len(data):
            return written
    kept = HEADER_BYTES if batch.magic == MAGIC_2 else 0
    return data[:kept] + b"x" * (len(data) - kept)


def _without_secrets(record: Record) -> Record:
    if record.value is None:
        return record
    read = read_metadata_record(CLUSTER_METADATA, record.value)
    if read is None:
        record.value = b"x" * len(record.value)  # unreadable: it may hold a secret
    else:
        record.value = _without_field_secrets(record.value, read)
    return record


def _without_field_secrets(value: bytes, read: InternalRecord) -> bytes:
    """Return the value of a metadata record with its secret fields masked."""
    secrets = RECORD_SECRETS.get(read.type, frozenset())
    assert read.value is not None
    message, version = read.value
    if read.type == "ConfigRecord" and is_secret_config(message.name):
        secrets = frozenset({"value"})
    if not secrets:
        return value
    cls: type[Struct] = type(message)
    for field in fields_of(cls):
        secret = getattr(message, field.name)
        if field.json_name in secrets and isinstance(secret, bytes):
            setattr(message, field.name, b"x" * len(secret))
        elif field.json_name in secrets and isinstance(secret, str):
            setattr(message, field.name, "x" * len(secret.encode(errors="surrogateescape")))
    body = encode(message, version)
    return value[: len(value) - len(body)] + body


def _rest(data: bytes, start: int) -> Mask:
    return start, b"x" * (len(data) - start)
