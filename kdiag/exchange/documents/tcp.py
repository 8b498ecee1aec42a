"""The facts of TCP on a connection as JSON.

Times are microseconds and sizes bytes, as the keys say; unknown values are null. Adding a key is
fine; renaming one or changing its type is a new schema number.
"""

from typing import Any

from kdiag.clock import NS_PER_US
from kdiag.exchange.tcp_facts import Spread, TcpDirection, TcpFacts


def tcp_document(facts: TcpFacts) -> dict[str, Any]:
    """Return the facts of a connection."""
    return {
        "vantage": facts.vantage.value,
        "rtt_us": _us(facts.rtt_ns),
        "client_rtt_us": _us(facts.client_rtt_ns),
        "broker_rtt_us": _us(facts.broker_rtt_ns),
        "window_scaling": facts.window_scaling.value,
        "has_sack": facts.has_sack,
        "has_timestamps": facts.has_timestamps,
        "requests": _direction(facts.requests),
        "responses": _direction(facts.responses),
    }


def _direction(direction: TcpDirection) -> dict[str, Any]:
    return {
        "bytes": direction.bytes,
        "segments": direction.segments,
        "retransmits": direction.retransmits,
        "retransmitted_bytes": direction.retransmitted_bytes,
        "timeouts": direction.timeouts,
        "out_of_order": direction.out_of_order,
        "captured_twice": direction.captured_twice,
        "mss": direction.mss,
        "window_scale": direction.window_scale,
        "window_bytes": _spread(direction.window, 1),
        "zero_windows": direction.zero_windows,
        "stalled_us": _us(direction.stalled_ns),
        "ack_rtt_us": _spread(direction.ack_rtt_ns, NS_PER_US),
        "in_flight_bytes": _spread(direction.in_flight, 1),
        "waits_us": {
            "idle": _us(direction.idle_ns),
            "window_full": _us(direction.window_full_ns),
            "window_closed": _us(direction.window_closed_ns),
            "recovery": _us(direction.recovery_ns),
            "held": _us(direction.held_ns),
        },
    }


def _spread(spread: Spread | None, unit: int) -> dict[str, int] | None:
    if spread is None:
        return None
    return {
        "least": spread.least // unit,
        "median": spread.median // unit,
        "p95": spread.p95 // unit,
        "most": spread.most // unit,
    }


def _us(time_ns: int | None) -> int | None:
    return None if time_ns is None else time_ns // NS_PER_US
