"""One exchange in full: `--show` prints it as a tree, `--explain` byte by byte."""

import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.byte_view import view_side
from kdiag.exchange.documents.document import SCHEMA, Documents
from kdiag.exchange.line.line_writer import LineWriter
from kdiag.exchange.line.phrase import count
from kdiag.exchange.line.shown_time import stamp
from kdiag.exchange.model import Connection
from kdiag.exchange.side import Side
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.explain import Span
from kdiag.wire.error_code import error_name
from kdiag.wire.frame import Frame
from kdiag_cli.output.exchanges.text import api_text, latency_text
from kdiag_cli.output.terminal import (
    BOLD,
    CYAN,
    DIM,
    RED,
    YELLOW,
    Output,
    clipped,
    columns_of,
    harmless,
    print_paragraph,
)

_MAX_BYTES: Final = 64
_HEX_BYTES: Final = 8
_WIDTH: Final = 100
_WIDE: Final = 120
_API_KEYS: Final = {"apiKey", "requestApiKey"}
_PATH_WIDTH: Final = 70
_LEAST_PATH_WIDTH: Final = 10
_VALUE_WIDTH: Final = 14
_NARROW: Final = 60


class ExchangeView:
    """Prints one exchange."""

    def __init__(self, output: Output, names: TopicNames, documents: Documents) -> None:
        self._output = output
        self._names = names
        self._documents = documents
        self._line_writer = LineWriter(names)
        self._width = output.width or _WIDTH

    def show(self, dissection: Dissection) -> None:
        """Print an exchange as a tree."""
        document = self._documents.exchange(dissection)
        self._print_head(dissection, document["status"])
        for name, side in (("request", dissection.request), ("response", dissection.response)):
            self._output.line("")
            if side is None:
                self._output.line(f"{self._output.paint(name, BOLD)}  none")
                continue
            form = document[name]
            self._print_side_head(name, side, form["status"])
            self._print_why(form.get("why"))
            if form["body"] is not None:
                for line in self._branches(form["body"], ""):
                    self._output.line(line)

    def explain(self, dissection: Dissection, *, show_secrets: bool) -> None:
        """Print where every byte of an exchange belongs."""
        self._print_head(dissection, dissection.status.value)
        for name, side in (("request", dissection.request), ("response", dissection.response)):
            if side is None:
                continue
            self._output.line("")
            self._print_side_head(name, side, side.status.value)
            self._print_why(side.why and msgspec.structs.asdict(side.why))
            is_response = name == "response"
            spans = view_side(dissection, side, is_response=is_response, show_secrets=show_secrets)
            self._print_spans(spans, side.frame)

    def _print_head(self, dissection: Dissection, status: str) -> None:
        exchange, output = dissection.exchange, self._output
        connection = exchange.connection
        time = stamp(exchange.time_ns, 9)
        api = output.paint(api_text(exchange), BOLD)
        latency = f"latency {latency_text(exchange.latency_ns)}"
        if exchange.transfer_ns:
            latency += f"  transfer {latency_text(exchange.transfer_ns)}"
        ends = f"{connection.client} → {connection.broker}"
        client_id = output.paint(harmless(exchange.client_id or "-"), CYAN)
        output.line(f"{output.paint(f'exchange {exchange.number}', BOLD)}  {time}")
        who = f"client id {client_id}{_user_text(connection)}"
        print_paragraph(output, f"connection {connection.number}  {ends}  {who}")
        correlation_id = f"correlation id {exchange.correlation_id}"
        output.line(f"{api}  {correlation_id}  {latency}  {self._status(status)}")
        error = dissection.error
        if error is not None:
            output.line(output.paint(error, RED))
        print_paragraph(output, harmless(self._line_writer.line_of(dissection)))

    def _status(self, status: str) -> str:
        return status if status == "ok" else self._output.paint(status, YELLOW)

    def _print_side_head(self, name: str, side: Side, status: str) -> None:
        frame = side.frame
        text = f"{self._output.paint(name, BOLD)}  {transport_text(frame)}"
        self._output.line(text if status == "ok" else f"{text}  {self._status(status)}")

    def _print_why(self, why: Any) -> None:
        if why is not None:
            form = why if isinstance(why, dict) else msgspec.structs.asdict(why)
            place = f"byte {form['offset']}" + (f", {form['path']}" if form["path"] else "")
            self._output.line(self._output.paint(harmless(f"{place}: {form['reason']}"), YELLOW))

    def _branches(self, value: Any, indent: str) -> Iterator[str]:
        """Yield the lines below an object or list."""
        items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
        for position, (key, each) in enumerate(items):
            is_last = position == len(items) - 1
            guide = self._output.paint(f"{indent}{'└─ ' if is_last else '├─ '}", DIM)
            name = harmless(str(key)) if isinstance(key, str) else f"[{key}]"
            label = f"{guide}{self._output.paint(name, CYAN)}"
            inner = f"{indent}{'   ' if is_last else '│  '}"
            room = self._width - len(indent) - len(name) - 5
            inline = self._inline(key, each, room)
            if inline is not None:
                yield f"{label}  {inline}"
                continue
            plain, rest = _split(each)
            margin = self._output.paint(inner, DIM) + " " * (len(name) + 2)
            first, *more = self._wrapped(plain, room) or [""]
            yield f"{label}  {first}".rstrip()
            yield from (f"{margin}{line}" for line in more)
            yield from self._branches(rest, inner)

    def _inline(self, key: object, value: Any, room: int) -> str | None:
        """Return a value on one line, or None if it needs branches."""
        if isinstance(value, list):
            parts = [self._inline(key, each, room) for each in value]
            if any(
                part is None or isinstance(each, dict)
                for part, each in zip(parts, value, strict=True)
            ):
                return None
            text = f"[{', '.join(part or '' for part in parts)}]"
            return text if len(text) <= room else None
        if isinstance(value, dict):
            plain, rest = _split(value)
            lines = [] if rest else self._wrapped(plain, room)
            return lines[0] if len(lines) == 1 else None
        return self._scalar(key, value)

    def _wrapped(self, plain: dict[str, Any], room: int) -> list[str]:
        """Return plain values with their names, on as many lines as they need."""
        lines: list[str] = []
        for name, value in plain.items():
            word = f"{harmless(name)} {self._scalar(name, value)}"
            if lines and len(lines[-1]) + len(word) + 2 <= room:
                lines[-1] += f", {word}"
            else:
                lines.append(word)
        return lines

    def _scalar(self, key: object, value: Any) -> str:
        """Return a plain value; error codes and topic ids with their names."""
        if isinstance(value, bytes):
            return bytes_text(value)
        if isinstance(value, str):
            name = self._names.name(value) if str(key).lower().endswith("topicid") else None
            quoted = harmless(json.dumps(value, ensure_ascii=False))
            return f"{quoted} ({harmless(name)})" if name else quoted
        if isinstance(value, int) and str(key).lower().endswith("errorcode") and value:
            return f"{value} {self._output.paint(error_name(value), RED)}"
        if str(key) in _API_KEYS and value in API_BY_KEY:
            return f"{value} ({API_BY_KEY[value].name})"
        return json.dumps(value)

    def _print_spans(self, spans: list[Span], frame: Frame) -> None:
        """Print the spans as rows; where there is little room, values go on below their paths."""
        output, width = self._output, self._output.width
        number = 8 if width is None or width >= _WIDE else 6
        paths = min(_PATH_WIDTH, max([len(harmless(span.path)) for span in spans], default=4))
        indent = 2 * number + 2 * _HEX_BYTES + 5
        if width is not None:
            paths = max(_LEAST_PATH_WIDTH, min(paths, width - indent - _VALUE_WIDTH - 2))
        head = f"{'OFFSET':>{number}} {'LENGTH':>{number}}  {'BYTES':<16}  {'PATH':<{paths}}  VALUE"
        output.line(output.paint(head if width is None else clipped(head, width), DIM))
        for span, following in zip(spans, [*spans[1:], None], strict=True):
            place = f"{span.offset:>{number}} {span.length:>{number}}  {_hex(span, frame):<16}  "
            path, value = harmless(span.path), f"{_kind(span, following)}{span_value(span)}"
            if width is None:
                output.line(f"{place}{path:<{paths}}  {value}")
                continue
            path = path if len(path) <= paths else f"…{path[1 - paths :]}"
            text = f"{place}{path:<{paths}}  {value}"
            if columns_of(text) > width and columns_of(value) > _VALUE_WIDTH:
                output.line(clipped(f"{place}{path}", width))
                text = " " * (indent if width > _NARROW else 2) + value
            output.line(clipped(text, width))


def _user_text(connection: Connection) -> str:
    """Return whom the client claimed to be with SASL: `  user alice (PLAIN)`."""
    user, mechanism = connection.sasl_user, connection.sasl_mechanism
    if user is None:
        return ""
    return f"  user {harmless(user)}{f' ({mechanism})' if mechanism else ''}"


def transport_text(frame: Frame) -> str:
    """Return how many packets carried a frame, and how many other frames they carried."""
    words = [f"{count(frame.size, 'byte')} in {count(frame.segments, 'segment')}"]
    if frame.last_packet > frame.first_packet:
        words.append(f"packets {frame.first_packet} to {frame.last_packet}")
    else:
        words.append(f"packet {frame.first_packet}")
    if frame.starts_in_segment_with:
        words.append(
            f"its first segment holds {count(frame.starts_in_segment_with, 'other frame')}"
        )
    if frame.gap_bytes:
        words.append(f"{count(frame.gap_bytes, 'byte')} missing")
    if frame.unsent_bytes:
        words.append(f"{count(frame.unsent_bytes, 'byte')} not sent")
    return ", ".join(words)


def bytes_text(data: bytes) -> str:
    """Return bytes in hexadecimal, with their number."""
    shown = data[:_MAX_BYTES].hex()
    return f"{shown}{'…' if len(data) > _MAX_BYTES else ''} ({count(len(data), 'byte')})"


def span_value(span: Span) -> str:
    """Return the value of a span as text."""
    if isinstance(span.value, bytes):
        return bytes_text(span.value)
    if isinstance(span.value, str) and not span.path.endswith(")"):
        return harmless(json.dumps(span.value, ensure_ascii=False))
    return harmless(span.value) if isinstance(span.value, str) else json.dumps(span.value)


def _kind(span: Span, following: Span | None) -> str:
    """Return `length` or `count` for a number that says how much follows."""
    if following is None or not isinstance(span.value, int) or isinstance(span.value, bool):
        return ""
    is_records = span.path.endswith(".records") and following.path.startswith(f"{span.path}[")
    if is_records or (following.path == span.path and not span.path.endswith("_tags")):
        return "length "
    return "count " if following.path.startswith(f"{span.path}[") else ""


def _split(value: Any) -> tuple[dict[str, Any], Any]:
    """Return the plain values of an object, and the rest that needs branches of its own."""
    if not isinstance(value, dict):
        return {}, value
    plain = {name: each for name, each in value.items() if not isinstance(each, dict | list)}
    return plain, {name: each for name, each in value.items() if name not in plain}


def _hex(span: Span, frame: Frame) -> str:
    """Return the bytes of a short span, unless they are secret or text anyway."""
    is_plain = isinstance(span.value, int | float) or span.value is None
    if not is_plain or not 0 < span.length <= _HEX_BYTES:
        return ""
    if span.offset < 0:
        return frame.size.to_bytes(4, signed=True).hex()
    return frame.data[span.offset : span.offset + span.length].hex()


def explanation_document(dissection: Dissection, *, show_secrets: bool) -> dict[str, Any]:
    """Return the document of `--explain --output json`."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": "explanation",
        "number": dissection.exchange.number,
    }
    for name, side in (("request", dissection.request), ("response", dissection.response)):
        document[name] = side and view_side(
            dissection, side, is_response=name == "response", show_secrets=show_secrets
        )
    return document
