"""A connection that some side limits, as facts and exchanges: what a diagnosis is given."""

from typing import Any

from kdiag.diagnosis.tcp.request_cycles import Frames, RequestCycles
from kdiag.exchange.model import Connection
from kdiag.exchange.tcp_facts import Spread, TcpDirection, TcpFacts
from recordings.exchange_maker import START_NS, make_connection

MS = 1_000_000
BYTES = 3_000_000
SPAN_MS = 1000
QUIET = {"bytes": 500, "segments": 5, "held_ns": SPAN_MS * MS}


def direction(**changes: Any) -> TcpDirection:
    """Return a direction of 3 MB in one second, with a window of 1 MB and 60 kB in flight."""
    facts: dict[str, Any] = {
        "bytes": BYTES,
        "segments": 2000,
        "first_ns": START_NS,
        "last_ns": START_NS + SPAN_MS * MS,
        "mss": 1460,
        "window_scale": 7,
        "window": Spread(900_000, 1_000_000, 1_000_000, 1_000_000),
        "in_flight": Spread(1460, 60_000, 65_000, 66_000),
        "ack_rtt_ns": Spread(10 * MS, 10 * MS, 11 * MS, 12 * MS),
    }
    return TcpDirection(**facts | changes)


def facts_of(requests: TcpDirection, responses: TcpDirection | None = None) -> TcpFacts:
    """Return facts of a path of 20 ms, 10 ms to either end."""
    return TcpFacts(
        requests=requests,
        responses=responses or direction(**QUIET),
        client_rtt_ns=10 * MS,
        broker_rtt_ns=10 * MS,
        has_handshake=True,
    )


def turns_of(frame_bytes: int, *, in_flight: int = 1, api_key: int = 0) -> RequestCycles:
    """Return exchanges of frames with data; each takes 10 ms and the way to the client."""
    count = BYTES // frame_bytes
    data = Frames(
        count,
        BYTES,
        BYTES * frame_bytes,
        latency_products=BYTES * 10 * MS,
        answered_bytes=BYTES,
        by_api={api_key: BYTES},
    )
    small = Frames(count, 50 * count, 2500 * count, by_api={api_key: 50 * count})
    requests, responses = (data, small) if api_key == 0 else (small, data)
    return RequestCycles(
        requests=requests,
        responses=responses,
        pending_ns=in_flight * SPAN_MS * MS - count * 10 * MS,
        first_ns=START_NS,
        last_ns=START_NS + SPAN_MS * MS,
        client_id="app",
    )


def connection_of(facts: TcpFacts) -> Connection:
    """Return the connection."""
    return make_connection(tcp=facts)
