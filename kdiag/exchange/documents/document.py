"""JSON documents of schema 1: exchanges, gaps and connections for programs.

Each is a dictionary for `DocumentEncoder`, with its keys in the order of their documentation.
Adding a key is fine; renaming one or changing its type is a new schema number.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from kdiag.clock import NS_PER_S, NS_PER_US
from kdiag.exchange.context.broker_ids import BrokerIds
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import SEVERITY, Dissection
from kdiag.exchange.documents.body import Bodies, BodyForm
from kdiag.exchange.documents.records import is_cut, iter_records_json, records_json
from kdiag.exchange.documents.tcp import tcp_document
from kdiag.exchange.line.phrase import hex_text
from kdiag.exchange.line.shown_time import moment_of
from kdiag.exchange.model import Connection, Gap, Sighting, Status
from kdiag.exchange.side import Side, Why
from kdiag.wire.catalog import API_NAMES
from kdiag.wire.frame import Frame
from kdiag.wire.records.batch import RecordBatch

SCHEMA: Final = 1

SCALARS: Final = (
    "schema",
    "kind",
    "number",
    "time",
    "connection",
    "connection_id",
    "client",
    "broker",
    "client_id",
    "api_key",
    "api",
    "version",
    "correlation_id",
    "status",
    "latency_us",
    "error",
    "transfer_us",
    "end_time",
)
"""The keys of an exchange with a plain value: the columns of the CSV output."""

_MAX_KEPT_BYTES: Final = 16 << 20
_PORTION_BYTES: Final = 1 << 20
_LEAST_FORM_BYTES: Final = 100
_PLACE: Final = b"\0"  # occurs in no JSON: bytes below a space are escaped


class Clockface:
    """Writes times as RFC 3339 in UTC with nanoseconds; the text of the last second is kept."""

    def __init__(self) -> None:
        self._second_ns = -NS_PER_S
        self._text = ""

    def text(self, time_ns: int) -> str:
        """Return a time since 1970, such as `2026-01-02T03:04:05.000000006Z`."""
        rest = time_ns - self._second_ns
        if not 0 <= rest < NS_PER_S:
            second, rest = divmod(time_ns, NS_PER_S)
            self._second_ns = time_ns - rest
            self._text = moment_of(second).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{self._text}.{rest:09}Z"


def in_us(time_ns: int | None) -> int | float | None:
    """Return a time in microseconds, as an integer if the capture's timestamps allow it."""
    if time_ns is None:
        return None
    whole, rest = divmod(time_ns, NS_PER_US)
    return time_ns / NS_PER_US if rest else whole


class Documents:
    """Makes the documents of one run.

    Attributes:
        cut_records: records of which not all bytes are shown, because they are very long.
        unread_batches: bodies with batches whose records cannot be shown, which say why.
    """

    def __init__(self, names: TopicNames, form: BodyForm, brokers: BrokerIds | None = None) -> None:
        """Start without documents; names, and node ids of brokers, may become more at any time."""
        self._names = names
        self._brokers = BrokerIds() if brokers is None else brokers
        self.cut_records = 0
        self.unread_batches = 0
        self._bodies = Bodies(names, form, self._records)
        self._encoder = DocumentEncoder(self._note_records)
        encoder = self._encoder
        self._text_bodies = Bodies(names, form, encoder.records, encoder.elements)
        self._clock = Clockface()

    def scalars(self, dissection: Dissection) -> dict[str, Any]:
        """Return the plain values of an exchange, in the order of `SCALARS`."""
        exchange = dissection.exchange
        connection = exchange.connection
        latency_ns, transfer_ns, end_ns = exchange.timing_ns
        return {
            "schema": SCHEMA,
            "kind": "exchange",
            "number": exchange.number,
            "time": self._clock.text(exchange.time_ns),
            "connection": connection.number,
            "connection_id": connection.connection_id,
            "client": connection.client,
            "broker": connection.broker,
            "client_id": exchange.client_id,
            "api_key": exchange.api_key,
            "api": API_NAMES.get(exchange.api_key),
            "version": exchange.version,
            "correlation_id": exchange.correlation_id,
            "status": dissection.status,
            "latency_us": None if latency_ns is None else in_us(latency_ns),
            "error": dissection.error,
            "transfer_us": in_us(transfer_ns) if transfer_ns else transfer_ns,
            "end_time": self._clock.text(end_ns),
        }

    def csv_values(self, dissection: Dissection) -> dict[str, Any]:
        """Return the plain values, with the names in an exchange and the sizes of its frames.

        Several names are joined by semicolons.
        """
        exchange = dissection.exchange
        names = self._names
        ids = {names.name(each) or each for each in dissection.topic_ids}
        return self.scalars(dissection) | {
            "topics": ";".join(sorted(dissection.topics | ids)),
            "groups": ";".join(sorted(dissection.groups)),
            "request_bytes": None if exchange.request is None else exchange.request.size,
            "response_bytes": None if exchange.response is None else exchange.response.size,
        }

    def exchange(self, dissection: Dissection) -> dict[str, Any]:
        """Return the document of an exchange."""
        return self._exchange(dissection, self._bodies)

    def exchange_text(self, dissection: Dissection, end: bytes = b"") -> Iterable[bytes]:
        """Return the document of an exchange as one line of JSON in pieces, and `end` behind it.

        It needs less memory than `exchange`; read all pieces before the next call.
        """
        return self._encoder.pieces(self._exchange(dissection, self._text_bodies), end)

    def _exchange(self, dissection: Dissection, bodies: Bodies) -> dict[str, Any]:
        document = self.scalars(dissection)
        request, request_why = _side(bodies, dissection, dissection.request, is_response=False)
        response, response_why = _side(bodies, dissection, dissection.response, is_response=True)
        if request_why is not None or response_why is not None:
            document["status"] = _worse(dissection.status, Status.MALFORMED)
            self.unread_batches += 1
        document["topic_names"] = self._names.of(dissection.topic_ids)
        if dissection.session_topics is not None:
            document["session_topics"] = [list(each) for each in dissection.session_topics]
        if dissection.exchange.guessed:
            document["guessed"] = True
        if dissection.exchange.guessed_versions is not None:
            document["versions"] = list(dissection.exchange.guessed_versions)
        if dissection.exchange.is_violation:
            document["is_violation"] = True
        if dissection.exchange.unanswered_reason is not None:
            document["unanswered_reason"] = dissection.exchange.unanswered_reason.value
        document["request"] = request
        document["response"] = response
        return document

    def _records(
        self,
        batch: RecordBatch,
        topic: str | None,
        show_secrets: bool,  # noqa: FBT001 - as `records_json`
    ) -> list[dict[str, Any]]:
        forms = records_json(batch, topic, show_secrets)
        self._note_records(forms)
        return forms

    def _note_records(self, forms: list[dict[str, Any]]) -> None:
        self.cut_records += sum(map(is_cut, forms))

    def gap(self, gap: Gap) -> dict[str, Any]:
        """Return the document of a gap, or of bytes that are not understood."""
        here = {"packet": gap.packet, "starts_with": hex_text(gap.starts_with)}
        return {
            "schema": SCHEMA,
            "kind": "gap" if gap.is_missing else "not_understood",
            "connection": gap.connection.number,
            "connection_id": gap.connection.connection_id,
            "direction": gap.direction,
            "time": self._clock.text(gap.time_ns),
            "offset": gap.offset,
            "bytes": gap.size,
            "reason": gap.reason,
            **({} if gap.is_missing else here),
            **({"is_fault": True} if gap.is_fault else {}),
        }

    def connection(self, connection: Connection) -> dict[str, Any]:
        """Return the document of a connection at its end, or at the end of the capture."""
        software = connection.client_software
        tcp = {} if connection.tcp is None else {"tcp": tcp_document(connection.tcp)}
        preamble = {} if connection.preamble is None else {"preamble": connection.preamble}
        sightings = [_sighting(each) for each in connection.sightings]
        return {
            "schema": SCHEMA,
            "kind": "connection",
            "connection": connection.number,
            "connection_id": connection.connection_id,
            "client": connection.client,
            "broker": connection.broker,
            "protocol": connection.protocol.value,
            "tls_version": connection.tls_version,
            "sni": connection.sni,
            "requests": connection.requests,
            "responses": connection.responses,
            "bytes": connection.request_bytes + connection.response_bytes,
            "request_bytes": connection.request_bytes,
            "response_bytes": connection.response_bytes,
            "first_time": self._clock.text(connection.first_ns),
            "last_time": self._clock.text(connection.last_ns),
            "duplicates": connection.duplicates,
            "gaps": connection.gaps,
            "gap_bytes": connection.gap_bytes,
            "not_understood": connection.not_understood,
            "not_understood_bytes": connection.not_understood_bytes,
            "close_reason": connection.close_reason,
            "closed_by": connection.closed_by,
            "closed_time": self._closed_time(connection),
            "client_software": None if software is None else " ".join(software).strip(),
            **self._broker_id(connection),
            **_sasl(connection),
            **preamble,
            **({"sightings": sightings} if sightings else {}),
            **({} if connection.continues is None else {"continues": connection.continues}),
            **_tls(connection),
            **tcp,
        }

    def _broker_id(self, connection: Connection) -> dict[str, int]:
        """Return the key of a connection whose broker's node id is known."""
        broker_id = self._brokers.of(connection)
        return {} if broker_id is None else {"broker_id": broker_id}

    def _closed_time(self, connection: Connection) -> str | None:
        """Return when an end closed a connection; None if nobody saw that."""
        return None if connection.closed_ns is None else self._clock.text(connection.closed_ns)


def _tls(connection: Connection) -> dict[str, Any]:
    """Return what a TLS handshake tells besides version and server name, as far as it is known."""
    facts = {
        "tls_cipher_suite": connection.tls_cipher_suite,
        "tls_alpn": connection.tls_alpn,
        "tls_alerts": [each._asdict() for each in connection.tls_alerts] or None,
        "tls_problem": connection.tls_problem,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _sasl(connection: Connection) -> dict[str, str | None]:
    """Return the keys of a connection with SASL."""
    if connection.sasl_mechanism is None and connection.sasl_user is None:
        return {}
    return {"sasl_mechanism": connection.sasl_mechanism, "sasl_user": connection.sasl_user}


def _sighting(sighting: Sighting) -> dict[str, Any]:
    """Return the object of a connection's other addresses."""
    return {
        "client": sighting.client,
        "broker": sighting.broker,
        "request_hop_us": in_us(sighting.request_hop_ns),
        "response_hop_us": in_us(sighting.response_hop_ns),
    }


def _side(
    bodies: Bodies, dissection: Dissection, side: Side | None, *, is_response: bool
) -> tuple[dict[str, Any] | None, Why | None]:
    """Return the object of a side, and the fault of its records, if there is one."""
    if side is None:
        return None, None
    body, why = bodies.make(dissection, side, is_response=is_response)
    frame = frame_document(side.frame)
    document: dict[str, Any] = {"status": side.status, "frame": frame, "body": body}
    if side.note is not None:
        document["note"] = side.note
    if side.why is not None or why is not None:
        document["why"] = side.why or why
        if why is not None:
            document["status"] = _worse(side.status, Status.MALFORMED)
    return document, why


def _worse(one: Status, other: Status) -> Status:
    return one if SEVERITY[one] <= SEVERITY[other] else other


def frame_document(frame: Frame) -> dict[str, Any]:
    """Return the facts of a frame's transport; its bytes count without the length prefix."""
    return {
        "bytes": frame.size,
        "segments": frame.segments,
        "first_packet": frame.first_packet,
        "last_packet": frame.last_packet,
        "starts_in_segment_with": frame.starts_in_segment_with,
        "gap_bytes": frame.gap_bytes,
        **({"unsent_bytes": frame.unsent_bytes} if frame.unsent_bytes else {}),
    }


class _Text:
    """The placeholder for the records of a batch: their JSON, or the way to make it again."""

    __slots__ = ("kept", "make")

    def __init__(self, make: Callable[[], Iterable[bytes]], kept: list[bytes] | None) -> None:
        self.make = make
        self.kept = kept


class DocumentEncoder:
    """Writes documents as JSON; strings that are not Unicode get replacement characters.

    The records of a Fetch response of 50 MB need four times that as Python objects, and twice that
    while their text is made. So `records` makes the text of some at a time, and `pieces` joins
    the texts; beyond `_MAX_KEPT_BYTES` a text is dropped and made again when it is written.
    """

    def __init__(
        self, note_records: Callable[[list[dict[str, Any]]], None] = lambda _: None
    ) -> None:
        """Start without documents.

        Args:
            note_records: is shown the forms of all records, each once.
        """
        self._note_records = note_records
        self._encode = msgspec.json.Encoder(enc_hook=self._leave_place).encode
        self._texts: list[_Text] = []
        self._kept_bytes = 0

    def encode(self, document: Any) -> bytes:
        """Return a document as one line of JSON, without the line feed."""
        return b"".join(self.pieces(document))

    def pieces(self, document: Any, end: bytes = b"") -> list[bytes] | Iterator[bytes]:
        """Return a document as one line of JSON in several pieces, and `end` behind it."""
        text = self._encode_plainly(document) + end
        if not self._texts:
            return [text]
        return self._joined(text)

    def records(self, batch: RecordBatch, topic: str | None, show_secrets: bool) -> object:  # noqa: FBT001 - as `records_json`
        """Return the placeholder for the records of a batch in the next document for `pieces`.

        Raises:
            DecodeError: if the records are wrong.
        """

        def make(note: Callable[[list[dict[str, Any]]], None]) -> Iterator[bytes]:
            separator = b"["
            for forms in _portions(iter_records_json(batch, topic, show_secrets)):
                note(forms)
                yield separator
                yield self._encode_plainly(forms)[1:-1]
                separator = b","
            yield b"]" if separator == b"," else b"[]"

        kept: list[bytes] | None = []
        kept_bytes = 0
        for piece in make(self._note_records):  # to the end: whatever is wrong must show now
            kept_bytes += len(piece)
            if kept is not None and self._kept_bytes + kept_bytes <= _MAX_KEPT_BYTES:
                kept.append(piece)
            else:
                kept = None
        if kept is not None:
            self._kept_bytes += kept_bytes
        return _Text(lambda: make(lambda _: None), kept)

    def elements(self, make: Callable[[], list[Any]]) -> object:
        """Return the placeholder for some elements of an array, made when they are written."""

        def text() -> list[bytes]:
            return [b"".join(self.pieces(make()))[1:-1]]

        return _Text(text, None)

    def _joined(self, text: bytes) -> Iterator[bytes]:
        """Yield a document with the texts in place of the placeholders."""
        texts, self._texts = self._texts, []
        self._kept_bytes = 0
        first, *rest = text.split(_PLACE)
        yield first
        for each, after in zip(texts, rest, strict=True):
            yield from each.make() if each.kept is None else each.kept
            yield after

    def _leave_place(self, text: object) -> msgspec.Raw:
        assert isinstance(text, _Text)
        self._texts.append(text)
        return msgspec.Raw(_PLACE)

    def _encode_plainly(self, value: Any) -> bytes:
        try:
            return self._encode(value)
        except UnicodeEncodeError:
            self._texts.clear()
            return self._encode(without_surrogates(value))


def _portions(forms: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield forms of records, some at a time: many small ones or a few long ones."""
    portion: list[dict[str, Any]] = []
    size = 0
    for form in forms:
        portion.append(form)
        size += _LEAST_FORM_BYTES + sum(
            len(value) for value in form.values() if isinstance(value, str | bytes)
        )
        if size > _PORTION_BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def without_surrogates(value: Any) -> Any:
    """Return a JSON tree with replacement characters for bytes that are not UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_surrogates(each) for each in value]
    if isinstance(value, tuple):  # as the entries of Arrow's maps are
        return tuple(without_surrogates(each) for each in value)
    if isinstance(value, msgspec.Struct):
        return without_surrogates(msgspec.structs.asdict(value))
    return value
