"""Keys, values, headers and marks of records as text, harmless where a terminal shows them."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Self

from kdiag.exchange.documents.records import control_json, internal_json
from kdiag.probe.tail.record_runs import RecordRun
from kdiag.wire.records.record import Header, Record
from kdiag_cli.commands.tail.json_columns import is_internal, records_of
from kdiag_cli.commands.tail.line_template import Piece
from kdiag_cli.commands.tail.value_format import ValueFormat, text_of
from kdiag_cli.output.result import encode
from kdiag_cli.output.terminal import harmless

NO_MARK: Final = b"-"
ABORTED: Final = b"aborted"

_LAYOUT: Final = re.compile(r"([\n\t])")


class TextColumns(NamedTuple):
    """Makes the columns of text output.

    Attributes:
        is_terminal: whether what could move a cursor must become escapes.
        key_format: how keys are written; `auto` decodes those of Kafka's own topics.
        value_format: the same for values.
    """

    is_terminal: bool = False
    key_format: ValueFormat = ValueFormat.AUTO
    value_format: ValueFormat = ValueFormat.AUTO

    @property
    def is_pretty(self) -> bool:
        """Return whether a value may take several lines."""
        return self.is_terminal and self.value_format is ValueFormat.JSON

    def with_formats(self, key_format: ValueFormat, value_format: ValueFormat) -> Self:
        """Return the same with other formats."""
        return self._replace(key_format=key_format, value_format=value_format)

    def key(self, run: RecordRun) -> Sequence[Piece]:
        """Return the keys; nothing for null, and for control records."""
        if run.origin.is_control:
            return (b"",)
        if is_internal(run, self.key_format):
            return (self._safe(_decoded(run, _key_of)),)
        return (self._safe(self._texts(self.key_format, run.columns.keys())),)

    def value(self, run: RecordRun) -> Sequence[Piece]:
        """Return the values; nothing for null."""
        if run.origin.is_control:
            return ([_value_of(control_json(each), each) for each in records_of(run)],)
        if is_internal(run, self.value_format):
            return (self._safe(_decoded(run, _value_of)),)
        return (self._safe(self._texts(self.value_format, run.columns.values())),)

    def headers(self, run: RecordRun) -> Sequence[Piece]:
        """Return the headers as kcat writes them: `k=v,k2=v2`, `NULL` for null."""
        headers = run.columns.headers()
        return (self._safe(list(map(_headers, headers))) if any(headers) else b"",)

    def mark(self, run: RecordRun) -> Sequence[Piece]:
        """Return what makes a record unlike others: that it was aborted, or what it controls."""
        if run.origin.is_control:
            return ([control_json(each)["control"].encode() for each in records_of(run)],)
        return (ABORTED if run.origin.is_aborted else NO_MARK,)

    def _texts(self, form: ValueFormat, values: Sequence[bytes | None]) -> list[bytes]:
        return text_of(form, values, is_pretty=self.is_terminal)

    def _safe(self, texts: list[bytes]) -> list[bytes]:
        return [safe_lines(each) for each in texts] if self.is_terminal else texts


def safe_lines(data: bytes) -> bytes:
    """Return bytes with escapes for all that is not printable, but line feeds and tabs."""
    text = data.decode("utf-8", "surrogateescape")
    if text.isprintable():
        return data
    parts = (part if part in {"\n", "\t"} else harmless(part) for part in _LAYOUT.split(text))
    return "".join(parts).encode()


def _headers(headers: Sequence[Header]) -> bytes:
    return b",".join(key + b"=" + (b"NULL" if value is None else value) for key, value in headers)


def _decoded(run: RecordRun, pick: Callable[[dict[str, Any], Record], bytes]) -> list[bytes]:
    """Return a part of the records of one of Kafka's own topics."""
    topic = run.origin.key.topic
    return [pick(internal_json(each, topic, show_secrets=False), each) for each in records_of(run)]


def _key_of(form: dict[str, Any], record: Record) -> bytes:
    """Return the key, behind the type if it could be read."""
    if "type" not in form:
        return record.key or b""
    return f"{form['type']} ".encode() + encode(form["key"])


def _value_of(form: dict[str, Any], record: Record) -> bytes:
    """Return the value if it could be read."""
    value = form.get("value")
    if isinstance(value, dict):
        return encode(value)
    return record.value or b""
