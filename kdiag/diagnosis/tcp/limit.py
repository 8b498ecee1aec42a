"""The limit of a connection's throughput: sender, receiver, network, or the program.

How it works. `TcpFacts` divide the time of a direction by the reason of the sender's waits. In the
rest, "held", bytes were in flight and the window had room. That time goes to

    the network     if recovery from losses took much time
    the program     if all of its requests in flight were in flight at once: TCP held nothing back
    the network     if segments were lost, or round trips grew, which is a queue on the path
    the send buffer else: a sender in the middle of a message continues as soon as its buffer has
                    room, and a congestion window without losses and queues grows

and the part with the most time is the limit. A direction with few bytes has none.

Example: 3.1 MB of Produce requests in 1.8 s over a path of 20 ms; for 1.76 s the window of 39 KB
was full. The limit is the receive buffer, as 39 KB / 20 ms is 1.95 MB/s.
"""

from enum import StrEnum
from typing import Final

import msgspec

from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.tcp.request_cycles import Frames, RequestCycles
from kdiag.exchange.tcp_facts import TcpDirection, TcpFacts, WindowScaling

SHORT_PATH_NS: Final = 1_000_000
"""The round trip below which buffers of usual sizes make no difference."""

_LEAST_BYTES: Final = 64 << 10
_LOST_SEGMENTS: Final = 0.001
_LEAST_LOST: Final = 3
_RECOVERY: Final = 0.1
_WHOLE_TURN: Final = 0.85
_LOADED_RTT: Final = 1.25
_LOADED_NS: Final = 2_000_000
_NEAR: Final = 0.1  # of a round trip
_HELD_ROUND_TRIPS: Final = 5
_MS: Final = 1_000_000
_NEARLY_UNSCALED: Final = 48 << 10  # of 64 KiB, with some bytes still unread
_DIGITS: Final = 2


class Limit(StrEnum):
    """The limits of a direction."""

    QUIET = "quiet"
    """Too few bytes to tell."""
    APPLICATION = "application"
    """The program: it had nothing to send, or waited for responses."""
    SEND_BUFFER = "send_buffer"
    RECEIVE_BUFFER = "receive_buffer"
    WINDOW_SCALING = "window_scaling"
    """The receive buffer may be larger, but windows above 64 KiB cannot be advertised."""
    READER = "reader"
    """The program that receives: it leaves bytes unread."""
    NETWORK = "network"
    SENDER = "sender"
    """Send buffer or program; the capture does not show which."""


class DirectionLimit(msgspec.Struct, kw_only=True, frozen=True):
    """The limit of one direction, and its size.

    Attributes:
        limit: the limit.
        share: its part of the time.
        mb_per_s: the measured rate, from the first to the last segment, in 10**6 bytes.
        bound_bytes: the bytes that it allows in a round trip; None if it is not one of bytes.
        ceiling_mb_per_s: the rate that this allows; None as above.
        turn_bytes: the bytes of a request cycle: of all requests in flight, or of their
            responses; None if no frame was readable.
        waits_ms: the time by the reason of the wait.
    """

    limit: Limit
    share: float
    mb_per_s: float
    bound_bytes: int | None
    ceiling_mb_per_s: float | None
    turn_bytes: int | None
    waits_ms: dict[str, float]


class ConnectionLimits(msgspec.Struct, kw_only=True, frozen=True):
    """The limits of both directions of a connection."""

    requests: DirectionLimit
    responses: DirectionLimit


def limits_of(facts: TcpFacts, cycles: RequestCycles) -> ConnectionLimits:
    """Return the limits of a connection.

    Args:
        facts: the facts of TCP.
        cycles: its request cycles; empty if its exchanges were unreadable.
    """
    return ConnectionLimits(
        requests=_limit(facts, facts.requests, _turn_bytes(facts, cycles, cycles.requests)),
        responses=_limit(facts, facts.responses, _turn_bytes(facts, cycles, cycles.responses)),
    )


def is_lossy(direction: TcpDirection) -> bool:
    """Return whether losses slow a direction down."""
    lost = direction.retransmits
    return lost >= _LEAST_LOST and lost >= _LOST_SEGMENTS * direction.segments


def is_recovering(direction: TcpDirection) -> bool:
    """Return whether recovery from losses took much of the time."""
    span_ns = direction.last_ns - direction.first_ns
    return is_lossy(direction) and direction.recovery_ns > _RECOVERY * span_ns


def loaded_rtt_ns(facts: TcpFacts) -> int | None:
    """Return the usual round trip between the ends while data was sent; None if not known.

    The path to a near end has no queue: the time of its acknowledgements is their delay.
    """
    legs = (
        (facts.broker_rtt_ns, facts.requests.ack_rtt_ns),
        (facts.client_rtt_ns, facts.responses.ack_rtt_ns),
    )
    total_ns = 0
    for least_ns, loaded in legs:
        if least_ns is not None and least_ns < _NEAR * (facts.rtt_ns or 0):
            total_ns += least_ns
        elif loaded is not None:
            total_ns += loaded.median
        else:
            return None
    return total_ns


def _turn_bytes(facts: TcpFacts, cycles: RequestCycles, frames: Frames) -> int | None:
    """Return the bytes of one direction before the program has to wait for the other."""
    if not frames.bytes:
        return None
    return round(frames.typical_bytes * max(1.0, cycles.in_flight(facts.client_rtt_ns or 0)))


def _limit(facts: TcpFacts, direction: TcpDirection, turn_bytes: int | None) -> DirectionLimit:
    """Return the limit of one direction."""
    span_ns = direction.last_ns - direction.first_ns
    waits = {
        Limit.APPLICATION: direction.idle_ns,
        _full_window(facts, direction): direction.window_full_ns,
        Limit.READER: direction.window_closed_ns,
        Limit.NETWORK: direction.recovery_ns,
    }
    holder = _holder(facts, direction, turn_bytes)
    waits[holder] = waits.get(holder, 0) + direction.held_ns
    limit = max(waits, key=lambda each: waits[each])
    share = waits[limit] / span_ns if span_ns > 0 else 0.0
    if direction.bytes < _LEAST_BYTES or span_ns <= 0:
        limit, share = Limit.QUIET, 0.0
    bound_bytes = (
        turn_bytes if limit is Limit.APPLICATION else _bound_bytes(limit, facts, direction)
    )
    return DirectionLimit(
        limit=limit,
        share=round(share, _DIGITS),
        mb_per_s=mb_per_s(direction.bytes, span_ns),
        bound_bytes=bound_bytes,
        ceiling_mb_per_s=_ceiling_mb_per_s(facts, bound_bytes),
        turn_bytes=turn_bytes,
        waits_ms={each.value: round(ns / NS_PER_MS, 1) for each, ns in waits.items() if ns},
    )


def _full_window(facts: TcpFacts, direction: TcpDirection) -> Limit:
    """Return why the receiver's window is not larger."""
    is_scaled = facts.window_scaling in {WindowScaling.ON, WindowScaling.UNKNOWN}
    is_largest = direction.window is not None and direction.window.most >= _NEARLY_UNSCALED
    return Limit.RECEIVE_BUFFER if is_scaled or not is_largest else Limit.WINDOW_SCALING


def _holder(facts: TcpFacts, direction: TcpDirection, turn_bytes: int | None) -> Limit:
    """Return the reason why a sender with bytes in flight and room for more did not send."""
    in_flight = direction.in_flight
    if is_recovering(direction):
        return Limit.NETWORK
    if turn_bytes and in_flight and in_flight.p95 >= _WHOLE_TURN * turn_bytes:
        return Limit.APPLICATION
    if is_lossy(direction) or _is_loaded(facts):
        return Limit.NETWORK
    is_short = direction.held_ns < _HELD_ROUND_TRIPS * (facts.rtt_ns or 0)
    if turn_bytes is None or direction.window is None or is_short:
        return Limit.SENDER
    return Limit.SEND_BUFFER


def _is_loaded(facts: TcpFacts) -> bool:
    """Return whether round trips grew while data was sent."""
    least, usual = facts.rtt_ns, loaded_rtt_ns(facts)
    if least is None or usual is None:
        return False
    return usual > _LOADED_RTT * least and usual - least > _LOADED_NS


def _bound_bytes(limit: Limit, facts: TcpFacts, direction: TcpDirection) -> int | None:
    """Return the bytes that a buffer allows in one round trip; None if no buffer is the limit.

    The size of a send buffer is not on the wire: the average of bytes in flight stands for it.
    """
    if limit in {Limit.RECEIVE_BUFFER, Limit.WINDOW_SCALING}:
        return None if direction.window is None else direction.window.median
    usual_ns, span_ns = loaded_rtt_ns(facts), direction.last_ns - direction.first_ns
    if limit in {Limit.SEND_BUFFER, Limit.SENDER} and usual_ns is not None:
        return direction.bytes * usual_ns // span_ns
    return None


def _ceiling_mb_per_s(facts: TcpFacts, bound_bytes: int | None) -> float | None:
    """Return the rate with that many bytes in each round trip; None on a short path."""
    if not bound_bytes or not facts.rtt_ns or facts.rtt_ns < SHORT_PATH_NS:
        return None
    return mb_per_s(bound_bytes, facts.rtt_ns)


def mb_per_s(size: int, time_ns: int) -> float:
    """Return a rate in 10**6 bytes per second."""
    return round(size * 1000 / time_ns, _DIGITS) if time_ns > 0 else 0.0
