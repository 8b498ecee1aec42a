"""Records as JSON lines, lossless: what is not UTF-8 stands in base64 under another name.

{"schema":1,"topic":"orders","partition":0,"offset":7,"timestamp":1700000000000,
 "timestamp_type":"CreateTime","key":"k","value_b64":"/w==","headers":[],"leader_epoch":0}

The columns are made apart: msgspec writes all values of a run in one call, a line each.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from kdiag.exchange.documents.records import control_json, header_json, internal_json
from kdiag.probe.tail.record_runs import RecordRun
from kdiag.wire.record_catalog import COORDINATOR_RECORDS
from kdiag.wire.records.record import Record
from kdiag_cli.commands.tail.line_template import (
    Column,
    LineTemplate,
    Piece,
    leader_epoch,
    offset,
    partition,
    timestamp,
)
from kdiag_cli.commands.tail.value_format import ValueFormat, json_of
from kdiag_cli.output.result import SCHEMA, encode

_ENCODER: Final = msgspec.json.Encoder()
_RECORD_FIELDS: Final = frozenset({"offset", "timestamp", "headers"})


def json_template(
    key_format: ValueFormat = ValueFormat.AUTO, value_format: ValueFormat = ValueFormat.AUTO
) -> LineTemplate:
    """Return the template of a JSON line.

    Args:
        key_format: how keys are written; `auto` decodes those of Kafka's own topics.
        value_format: the same for values.
    """
    return LineTemplate(
        [
            b'{"schema":%d,"topic":' % SCHEMA,
            _topic,
            b',"partition":',
            partition,
            b',"offset":',
            offset,
            b',"timestamp":',
            timestamp,
            b',"timestamp_type":',
            _timestamp_type,
            b",",
            _content(key_format, value_format),
            b',"headers":',
            _headers,
            b',"leader_epoch":',
            leader_epoch,
            _aborted,
            b"}\n",
        ]
    )


def is_internal(run: RecordRun, *formats: ValueFormat) -> bool:
    """Return whether records are messages of Kafka's own that shall be decoded."""
    is_known = run.origin.key.topic in COORDINATOR_RECORDS
    return is_known and all(each is ValueFormat.AUTO for each in formats)


def records_of(run: RecordRun) -> list[Record]:
    """Return the records of a run one by one."""
    cells = run.columns
    columns = (cells.offsets(), cells.timestamps(), cells.keys(), cells.values(), cells.headers())
    return [Record(*row) for row in zip(*columns, strict=True)]


def _content(key_format: ValueFormat, value_format: ValueFormat) -> Column:
    """Return the column that holds key and value."""

    def content(run: RecordRun) -> Sequence[Piece]:
        if run.origin.is_control:
            return ([_fields(control_json(each)) for each in records_of(run)],)
        if is_internal(run, key_format, value_format):
            topic = run.origin.key.topic
            decoded = (internal_json(each, topic, show_secrets=False) for each in records_of(run))
            return ([_fields(each) for each in decoded],)
        return (
            *_bytes_or_text("key", run.columns.keys(), key_format),
            b",",
            *_bytes_or_text("value", run.columns.values(), value_format),
        )

    return content


def _fields(form: dict[str, Any]) -> bytes:
    """Return what a record's form says besides what every line does, without braces."""
    return encode({name: form[name] for name in form if name not in _RECORD_FIELDS})[1:-1]


def _bytes_or_text(name: str, values: Sequence[bytes | None], form: ValueFormat) -> Sequence[Piece]:
    """Return keys or values with their name."""
    if form in {ValueFormat.AUTO, ValueFormat.TEXT}:
        try:
            texts = list(map(bytes.decode, values))  # type: ignore[arg-type] # see below
        except (TypeError, UnicodeDecodeError):  # of null, or of what is not UTF-8
            pass
        else:
            return (f'"{name}":'.encode(), _ENCODER.encode_lines(texts).split(b"\n")[:-1])
    null = f'"{name}":null'.encode()
    if values.count(None) == len(values):
        return (null,)
    return ([null if each is None else _one(name, each, form) for each in values],)


def _one(name: str, value: bytes, form: ValueFormat) -> bytes:
    formatted = json_of(form, value)
    if formatted is not None:
        return b'"%b":%b' % (name.encode(), formatted)
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return b'"%b_b64":%b' % (name.encode(), _ENCODER.encode(value))
    return b'"%b":%b' % (name.encode(), _ENCODER.encode(text))


def _topic(run: RecordRun) -> Sequence[Piece]:
    return (_ENCODER.encode(run.origin.key.topic),)


def _timestamp_type(run: RecordRun) -> Sequence[Piece]:
    return (_ENCODER.encode(run.origin.timestamp_type),)


def _headers(run: RecordRun) -> Sequence[Piece]:
    headers = run.columns.headers()
    if not any(headers):
        return (b"[]",)
    return ([_ENCODER.encode([header_json(each) for each in row]) for row in headers],)


def _aborted(run: RecordRun) -> Sequence[Piece]:
    return (b',"aborted":true',) if run.origin.is_aborted else ()
