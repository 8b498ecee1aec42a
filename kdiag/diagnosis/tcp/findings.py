"""The findings on a connection's throughput: its limits, and what to change."""

from collections.abc import Container, Iterable, Iterator
from typing import Any, Final

from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.tcp.limit import (
    SHORT_PATH_NS,
    ConnectionLimits,
    DirectionLimit,
    Limit,
    is_lossy,
    is_recovering,
    loaded_rtt_ns,
)
from kdiag.diagnosis.tcp.request_cycles import RequestCycles
from kdiag.exchange.line.shown_time import time_of_day, zone_label
from kdiag.exchange.model import Connection
from kdiag.exchange.tcp_facts import TcpDirection, TcpFacts, WindowScaling, WindowStall
from kdiag.findings.finding import Finding, found
from kdiag.wire import api_keys

DEFAULT_BITS_PER_S: Final = 1_000_000_000
LEAST_CLOSED_NS: Final = NS_PER_S
"""Shorter ones are those of garbage collections, and of bursts."""

_BITS: Final = 8
_SCALING: Final = {
    WindowScaling.CLIENT_ONLY: "only the client offers",
    WindowScaling.BROKER_ONLY: "only the broker offers",
    WindowScaling.OFF: "neither end offers",
}
_BUFFER_RULES: Final = {Limit.RECEIVE_BUFFER: "KD6002", Limit.SEND_BUFFER: "KD6004"}
_OWN_SETTINGS: Final = {
    ("client", "send"): "send.buffer.bytes of the client (librdkafka: socket.send.buffer.bytes)",
    ("client", "receive"): (
        "receive.buffer.bytes of the client (librdkafka: socket.receive.buffer.bytes)"
    ),
    ("broker", "send"): "socket.send.buffer.bytes of the broker",
    ("broker", "receive"): "socket.receive.buffer.bytes of the broker",
}
_REPLICA_SETTING: Final = "replica.socket.receive.buffer.bytes of the following broker"
_MESSAGES: Final[dict[int | None, str]] = {api_keys.PRODUCE: "Produce", api_keys.FETCH: "Fetch"}
_CYCLE_RULES: Final[dict[tuple[str, int | None], str]] = {
    ("requests", api_keys.PRODUCE): "KD6007",
    ("responses", api_keys.FETCH): "KD6008",
}
_LEAST_MB_PER_S: Final = 0.1  # slower ones have little to send, not little room
_WAITING: Final = 0.5  # requests in flight, on average: it waits most of the time


def find(
    connection: Connection,
    limits: ConnectionLimits,
    cycles: RequestCycles,
    bits_per_s: int = DEFAULT_BITS_PER_S,
) -> list[Finding]:
    """Return the findings on a connection's throughput.

    Args:
        connection: the connection, with its facts of TCP.
        limits: its limits.
        cycles: its request cycles.
        bits_per_s: the rate that it should reach.
    """
    assert connection.tcp is not None
    judged = _JudgedConnection(connection, connection.tcp, cycles, bits_per_s)
    findings = list(judged.scaling())
    findings += judged.direction("requests", limits.requests)
    findings += judged.direction("responses", limits.responses)
    return findings


def closed_windows(stalls: Iterable[WindowStall], brokers: Container[str]) -> Iterator[Finding]:
    """Yield the receivers that did not read for long, each once.

    Args:
        stalls: of all connections.
        brokers: the addresses of brokers; other connections are not judged.
    """
    for each in sorted(stalls, key=lambda stall: -stall.longest_ns):
        if each.longest_ns < LEAST_CLOSED_NS:
            continue
        if each.receiver in brokers:
            role = "broker"
        elif each.sender in brokers:
            role = "client"
        else:
            continue
        total_s = round(each.closed_ns / NS_PER_S, 2)
        yield found(
            "KD6101",
            role=role,
            receiver=each.receiver,
            sender=each.sender,
            longest_s=round(each.longest_ns / NS_PER_S, 2),
            first=f"{time_of_day(each.first_ns)} {zone_label(each.first_ns)}",
            count=each.count,
            closed_s=total_s,
            more=f", {each.count:,} times, {total_s} s in all" if each.count > 1 else "",
        )


class _JudgedConnection:
    """A connection, with the evidence that its findings share."""

    def __init__(
        self, connection: Connection, facts: TcpFacts, cycles: RequestCycles, bits_per_s: int
    ) -> None:
        self._connection = connection
        self._facts = facts
        self._cycles = cycles
        self._rtt_ns = facts.rtt_ns or 0
        self._is_short = facts.rtt_ns is not None and facts.rtt_ns < SHORT_PATH_NS
        self._needed_bytes = bits_per_s * self._rtt_ns // _BITS // NS_PER_S

    def scaling(self) -> Iterator[Finding]:
        """Find a lack of window scaling."""
        who = _SCALING.get(self._facts.window_scaling)
        if who is None or self._is_short:
            return
        ends = {"client": self._connection.client, "broker": self._connection.broker}
        yield found("KD6001", connection=self._connection.number, **ends, who=who)

    def direction(self, name: str, limited: DirectionLimit) -> Iterator[Finding]:
        """Find the limit of one direction."""
        direction = self._facts.requests if name == "requests" else self._facts.responses
        evidence = self._evidence(name, limited, direction)
        if is_recovering(direction) or (limited.limit is Limit.NETWORK and is_lossy(direction)):
            yield found("KD6005", **evidence)
        match limited.limit:
            case Limit.READER:
                yield found("KD6003", **evidence, address=evidence["receiver_address"])
            case Limit.NETWORK if not self._is_short and not is_lossy(direction):
                loaded_ns = loaded_rtt_ns(self._facts) or 0
                yield found("KD6006", **evidence, loaded_rtt_ms=_ms(loaded_ns))
            case Limit.SENDER if not self._is_short:
                yield found("KD6009", **evidence, why=self._why_unsure(direction, limited))
            case Limit.RECEIVE_BUFFER | Limit.SEND_BUFFER if not self._is_short:
                yield found(_BUFFER_RULES[limited.limit], **evidence)
            case Limit.APPLICATION:
                yield from self._cycle(name, limited, evidence)

    def _cycle(
        self, name: str, limited: DirectionLimit, evidence: dict[str, Any]
    ) -> Iterator[Finding]:
        """Find request cycles that are too small, if responses wait for the path."""
        frames = self._cycles.requests if name == "requests" else self._cycles.responses
        rule_id = _CYCLE_RULES.get((name, frames.api_key))
        is_enough = (limited.turn_bytes or 0) >= self._needed_bytes
        if rule_id is None or frames.latency_ns is None or self._is_short or is_enough:
            return
        client_rtt_ns = self._facts.client_rtt_ns or 0
        latency_ns = frames.latency_ns + client_rtt_ns
        is_waiting = self._cycles.in_flight(client_rtt_ns) >= _WAITING
        is_transfer = limited.mb_per_s >= _LEAST_MB_PER_S
        if is_waiting and is_transfer and latency_ns < 2 * self._rtt_ns:
            yield found(rule_id, **evidence, latency_ms=_ms(latency_ns))

    def _why_unsure(self, direction: TcpDirection, limited: DirectionLimit) -> str:
        """Return why the capture does not tell buffer and program apart."""
        if limited.turn_bytes is None:
            return "its messages cannot be read"
        if direction.window is None:
            return "the beginning of the connection, which tells the scale of windows, is missing"
        return "it sent for a few round trips only"

    def _evidence(
        self, name: str, limited: DirectionLimit, direction: TcpDirection
    ) -> dict[str, Any]:
        """Return the evidence of all findings."""
        is_request = name == "requests"
        ends = ("client", "broker") if is_request else ("broker", "client")
        frames = self._cycles.requests if is_request else self._cycles.responses
        message = _MESSAGES.get(frames.api_key, "")
        addresses = {"client": self._connection.client, "broker": self._connection.broker}
        return {
            "connection": self._connection.number,
            "client_id": self._cycles.client_id,
            "what": f"{message} {name}".strip(),
            "sender": ends[0],
            "sender_address": addresses[ends[0]],
            "receiver": ends[1],
            "receiver_address": addresses[ends[1]],
            "percent": round(100 * limited.share),
            "mb_per_s": limited.mb_per_s,
            "ceiling_mb_per_s": limited.ceiling_mb_per_s,
            "bound_bytes": limited.bound_bytes,
            "rtt_ms": _ms(self._rtt_ns),
            "window_bytes": None if direction.window is None else direction.window.median,
            "in_flight_bytes": None if direction.in_flight is None else direction.in_flight.median,
            "turn_bytes": limited.turn_bytes,
            "segments": direction.segments,
            "retransmits": direction.retransmits,
            "zero_windows": direction.zero_windows,
            "stalled_ms": _ms(direction.stalled_ns),
            "needed_bytes": self._needed_bytes,
            "send_setting": self._setting(ends[0], "send"),
            "receive_setting": self._setting(ends[1], "receive"),
        }

    def _setting(self, end: str, which: str) -> str:
        """Return the setting for a buffer; replicas of partitions have their own."""
        is_replica = "-fetcher-" in (self._cycles.client_id or "")
        if is_replica and (end, which) == ("client", "receive"):
            return _REPLICA_SETTING
        return _OWN_SETTINGS[end, which]


def _ms(time_ns: int) -> float:
    return round(time_ns / NS_PER_MS, 1)
