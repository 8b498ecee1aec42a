"""What kdiag prints for machines: exchanges, gaps and connections as JSON documents of schema 1.

Each is a dictionary ready for `DocumentEncoder`, keys in the order in which they are documented.
Adding a key is fine; renaming one or changing its type is a new schema number.
"""

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from kdiag.wire.body import Bodies, BodyForm
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.connection import Connection, Gap
from kdiag.wire.dissection import SEVERITY, Dissection
from kdiag.wire.exchange import Exchange, Status
from kdiag.wire.frame import Frame
from kdiag.wire.side import Side, Why
from kdiag.wire.topic_names import TopicNames

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
)
"""The keys of an exchange with one plain value each: the columns of the CSV output."""

_NS_PER_S: Final = 1_000_000_000


class Clockface:
    """Writes times as RFC 3339 in UTC with nanoseconds; the same second is written once."""

    def __init__(self) -> None:
        self._second = -1
        self._text = ""

    def text(self, time_ns: int) -> str:
        """Return a time since 1970, such as `2026-01-02T03:04:05.000000006Z`."""
        second, rest = divmod(time_ns, _NS_PER_S)
        if second != self._second:
            self._second = second
            self._text = moment_of(second).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{self._text}.{rest:09}Z"


def moment_of(second: int) -> datetime:
    """Return a second since 1970 in UTC; one that no calendar has, in a damaged file, is 1970."""
    try:
        return datetime.fromtimestamp(second, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)


def latency_us(exchange: Exchange) -> int | float | None:
    """Return the latency in microseconds, whole where the capture's stamps are."""
    latency_ns = exchange.latency_ns
    if latency_ns is None:
        return None
    whole, rest = divmod(latency_ns, 1000)
    return latency_ns / 1000 if rest else whole


def api_name(exchange: Exchange) -> str | None:
    """Return Kafka's name of the exchange's API, or None where it is not known."""
    if exchange.api_key is None:
        return None
    api = API_BY_KEY.get(exchange.api_key)
    return None if api is None else api.name


class Documents:
    """Makes the documents of one run."""

    def __init__(self, names: TopicNames, form: BodyForm) -> None:
        self._names = names
        self._bodies = Bodies(names, form)
        self._clock = Clockface()

    def scalars(self, dissection: Dissection) -> dict[str, Any]:
        """Return the plain values of an exchange, in the order of `SCALARS`."""
        exchange = dissection.exchange
        connection = exchange.connection
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
            "api": api_name(exchange),
            "version": exchange.version,
            "correlation_id": exchange.correlation_id,
            "status": dissection.status.value,
            "latency_us": latency_us(exchange),
            "error": dissection.error,
        }

    def exchange(self, dissection: Dissection) -> dict[str, Any]:
        """Return the document of an exchange."""
        document = self.scalars(dissection)
        request, request_why = self._side(dissection, dissection.request, is_response=False)
        response, response_why = self._side(dissection, dissection.response, is_response=True)
        if request_why is not None or response_why is not None:
            document["status"] = _worse(dissection.status, Status.MALFORMED).value
        document["topic_names"] = self._names.of(dissection.topic_ids)
        if dissection.session_topics is not None:
            document["session_topics"] = [list(each) for each in dissection.session_topics]
        if dissection.exchange.guessed:
            document["guessed"] = True
        document["request"] = request
        document["response"] = response
        return document

    def gap(self, gap: Gap) -> dict[str, Any]:
        """Return the document of a gap."""
        return {
            "schema": SCHEMA,
            "kind": "gap",
            "connection": gap.connection.number,
            "connection_id": gap.connection.connection_id,
            "direction": gap.direction,
            "time": self._clock.text(gap.time_ns),
            "offset": gap.offset,
            "bytes": gap.size,
            "reason": gap.reason,
        }

    def connection(self, connection: Connection) -> dict[str, Any]:
        """Return the document of a connection that has ended, or whose capture has."""
        software = connection.client_software
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
            "close_reason": connection.close_reason,
            "client_software": None if software is None else " ".join(software).strip(),
        }

    def _side(
        self, dissection: Dissection, side: Side | None, *, is_response: bool
    ) -> tuple[dict[str, Any] | None, Why | None]:
        """Return the object of a side, and what was wrong inside its records."""
        if side is None:
            return None, None
        body, why = self._bodies.make(dissection, side, is_response=is_response)
        frame = frame_document(side.frame)
        document: dict[str, Any] = {"status": side.status.value, "frame": frame, "body": body}
        if side.why is not None or why is not None:
            document["why"] = side.why or why
            if why is not None:
                document["status"] = _worse(side.status, Status.MALFORMED).value
        return document, why


def _worse(one: Status, other: Status) -> Status:
    return one if SEVERITY[one] <= SEVERITY[other] else other


def frame_document(frame: Frame) -> dict[str, Any]:
    """Return how TCP carried a frame; its bytes count without their length prefix."""
    return {
        "bytes": frame.size,
        "segments": frame.segments,
        "first_packet": frame.first_packet,
        "last_packet": frame.last_packet,
        "starts_in_segment_with": frame.starts_in_segment_with,
        "gap_bytes": frame.gap_bytes,
    }


class DocumentEncoder:
    """Writes documents as JSON; strings that are not Unicode get replacement characters."""

    def __init__(self) -> None:
        self._encode = msgspec.json.Encoder().encode

    def encode(self, document: Any) -> bytes:
        """Return a document as one line of JSON, without the line feed."""
        try:
            return self._encode(document)
        except UnicodeEncodeError:
            return self._encode(_without_surrogates(document))


def _without_surrogates(value: Any) -> Any:
    """Return a JSON tree in which bytes that were not UTF-8 are replaced."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(each) for each in value]
    if isinstance(value, msgspec.Struct):
        return _without_surrogates(msgspec.structs.asdict(value))
    return value
