"""What lines say of exchanges and connections: API, latency, why a request was not answered.

Fetch v13     6.00 ms +4.07 s     unanswered: reset by broker after 1.20 s
"""

from typing import TYPE_CHECKING, Final

from kdiag.exchange.line.phrase import count, hex_text, size
from kdiag.exchange.model import (
    Connection,
    Exchange,
    Gap,
    Protocol,
    Sighting,
    Status,
    UnansweredReason,
)
from kdiag.exchange.summary.counts import Totals
from kdiag.wire.catalog import API_BY_KEY
from kdiag_cli.output.terminal import harmless
from kdiag_cli.output.units import duration

if TYPE_CHECKING:
    from collections import Counter

_NOTABLE_TRANSFER_NS: Final = 1_000_000
_NOTABLE_SHARE: Final = 10
"""A transfer is shown from a millisecond and a tenth of the latency on."""

_PROTOCOLS: Final = {
    Protocol.HTTP: "HTTP",
    Protocol.KAFKA: "Kafka",
    Protocol.REDIS: "Redis",
    Protocol.TLS: "TLS",
}
_REASONS: Final = {
    UnansweredReason.IN_FLIGHT: "in flight at the end of the capture",
    UnansweredReason.CLIENT_CLOSED: "client closed first",
    UnansweredReason.BROKER_RESET: "reset by broker",
    UnansweredReason.BROKER_CLOSED: "closed by broker",
    UnansweredReason.SKIPPED: "broker answered later requests only",
    UnansweredReason.ANSWER_NOT_CAPTURED: "answer not captured",
    UnansweredReason.ANSWER_NOT_UNDERSTOOD: "answer not understood",
    UnansweredReason.RESPONSES_NOT_CAPTURED: "responses not captured",
    UnansweredReason.END_NOT_CAPTURED: "end of the connection not captured",
    UnansweredReason.GIVEN_UP: "given up, too many wait",
}
_CLOSED: Final = {
    UnansweredReason.CLIENT_CLOSED,
    UnansweredReason.BROKER_RESET,
    UnansweredReason.BROKER_CLOSED,
}


def protocol_text(protocol: Protocol) -> str:
    """Return the name of a protocol as people write it."""
    return _PROTOCOLS.get(protocol, protocol.value)


def others_text(protocols: "Counter[str]") -> str:
    """Return how many connections were not Kafka's, with their protocols."""
    number = sum(protocols.values())
    kinds = ", ".join(f"{each:,} {name}" for name, each in protocols.most_common())
    if len(protocols) == 1:
        (kinds,) = protocols
    which = "them" if number > 1 else "it"
    return f"{count(number, 'other connection')}: {kinds} (--all lists {which})"


def api_text(exchange: Exchange) -> str:
    """Return API and version: `Fetch v13`, or `Fetch v4-v11` where the bytes fit all of these."""
    if exchange.api_key is None:
        if exchange.pairing is not Status.OPAQUE:
            return "?"
        return "SASL token" if exchange.correlation_id is None else "SASL login?"
    api = API_BY_KEY.get(exchange.api_key)
    name = f"API {exchange.api_key}" if api is None else api.name
    if exchange.guessed_versions is not None:
        low, high = exchange.guessed_versions
        return f"{name} v{low}-v{high}"
    return f"{name} v{exchange.version}"


def latency_text(latency_ns: int | None) -> str:
    """Return a latency with three digits: `812 µs`, `3.21 ms`, `1.50 s`."""
    return "-" if latency_ns is None else duration(latency_ns)


def timing_text(exchange: Exchange) -> str:
    """Return latency and, if it takes notably long, transfer: `6.00 ms +4.07 s`."""
    latency_ns, transfer_ns = exchange.latency_ns, exchange.transfer_ns
    text = latency_text(latency_ns)
    if transfer_ns is None or transfer_ns < _NOTABLE_TRANSFER_NS:
        return text
    if latency_ns is not None and transfer_ns * _NOTABLE_SHARE < latency_ns:
        return text
    return f"{text} +{duration(transfer_ns)}"


def sighting_text(sighting: Sighting) -> str:
    """Return with which other addresses a connection was seen, and how far away in time."""
    text = f"as {sighting.client} → {sighting.broker}"
    hops = [(sighting.request_hop_ns, "requests"), (sighting.response_hop_ns, "responses")]
    known = [f"{hop_text(each)} for {name}" for each, name in hops if each is not None]
    return f"{text}; between the two {', '.join(known)}" if known else text


def hop_text(hop_ns: int) -> str:
    """Return the time between two sightings; negative where clocks differ."""
    return f"{'-' if hop_ns < 0 else ''}{duration(abs(hop_ns))}"


def unanswered_text(exchange: Exchange, reason: UnansweredReason) -> str:
    """Return why a request was not answered: `unanswered: reset by broker after 1.20 s`."""
    text = f"unanswered: {_REASONS[reason]}"
    closed_ns = exchange.connection.closed_ns
    if reason not in _CLOSED or closed_ns is None or exchange.request is None:
        return text
    return f"{text} after {duration(max(0, closed_ns - exchange.request.last_byte_ns))}"


def gap_text(gap: Gap) -> str:
    """Return what became of bytes that are in no frame.

    `27 B not understood (packet 1) in the request stream, first bytes 00000017 8081: REASON`.
    """
    what = "missing" if gap.is_missing else f"not understood (packet {gap.packet})"
    first = f", first bytes {hex_text(gap.starts_with)}" if gap.starts_with else ""
    return f"{size(gap.size)} {what} in the {gap.direction} stream{first}: {gap.reason}"


def not_understood_text(totals: Totals) -> str:
    """Return how much is here that is no frame: `31 B not understood, in 2 places`."""
    places = count(totals.not_understood, "place")
    return f"{size(totals.not_understood_bytes)} not understood, in {places}"


def connection_text(connection: Connection) -> str:
    """Return what a connection that could not be read as Kafka carried."""
    if connection.trouble is not None:
        tls = connection.tls_version or ""
        return harmless(f"{tls}{tls and ': '}{connection.trouble}")
    total = size(connection.request_bytes + connection.response_bytes)
    if connection.protocol is Protocol.TLS:
        version = connection.tls_version or "TLS"
        name = f", server name {harmless(connection.sni)}" if connection.sni else ""
        return f"{version}{name}, {total}: encrypted, not read"
    if connection.protocol is Protocol.UNKNOWN:
        return f"unknown protocol, {total}"
    return f"{protocol_text(connection.protocol)}, {total}"
