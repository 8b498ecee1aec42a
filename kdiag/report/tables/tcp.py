"""The table `tcp`: what TCP did in each direction of a connection, as `TcpDirection` has it."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kdiag.clock import NS_PER_US
from kdiag.exchange.model import Connection
from kdiag.exchange.tcp_facts import TcpDirection, TcpFacts
from kdiag.report.tables.column import (
    BIGINT,
    BOOLEAN,
    BROKER,
    CLIENT,
    CLIENT_HOST,
    CONNECTION_ID,
    INT,
    STRING,
    TIMESTAMP,
    Column,
    Table,
    cells_of,
)

REQUEST: Final = "request"
RESPONSE: Final = "response"


class DirectionFacts(NamedTuple):
    """A direction of a connection, as the columns read it."""

    connection: Connection
    tcp: TcpFacts
    name: str

    @property
    def way(self) -> TcpDirection:
        """Return the facts of the direction."""
        return self.tcp.requests if self.name == REQUEST else self.tcp.responses


def _count(name: str, meaning: str) -> Column[DirectionFacts]:
    """Return a column that counts something of a direction."""
    return Column(name, BIGINT, meaning, lambda of: getattr(of.way, name))


def _wait(name: str, meaning: str) -> Column[DirectionFacts]:
    """Return a column with a time of a direction."""
    return Column(name, BIGINT, meaning, lambda of: getattr(of.way, name), unit="ns")


def _spread(
    spread: str, parts: dict[str, str], unit: str, meaning: str
) -> tuple[Column[DirectionFacts], ...]:
    """Return columns with the spread of a value; null without any.

    Args:
        spread: the name in `TcpDirection`.
        parts: the wanted ones, and their words.
        unit: of the values.
        meaning: of the value.
    """
    base = spread.removesuffix(f"_{unit}")

    def column(part: str, words: str) -> Column[DirectionFacts]:
        def value(of: DirectionFacts) -> int | None:
            found = getattr(of.way, spread)
            return None if found is None else int(getattr(found, part))

        return Column(f"{base}_{part}_{unit}", BIGINT, f"{words} {meaning}", value, unit=unit)

    return tuple(column(part, words) for part, words in parts.items())


_COLUMNS: Final[tuple[Column[DirectionFacts], ...]] = (
    Column(
        "connection",
        BIGINT,
        "Number of the connection within one run.",
        lambda of: of.connection.number,
    ),
    CONNECTION_ID,
    CLIENT,
    CLIENT_HOST,
    BROKER,
    Column("direction", STRING, "`request` (client to broker) or `response`.", lambda of: of.name),
    Column(
        "first_time",
        TIMESTAMP,
        "The first packet of the connection, UTC.",
        lambda of: of.connection.first_ns // NS_PER_US,
    ),
    Column(
        "first_ns", BIGINT, "The same since 1970.", lambda of: of.connection.first_ns, unit="ns"
    ),
    Column("last_ns", BIGINT, "Its last packet.", lambda of: of.connection.last_ns, unit="ns"),
    Column(
        "first_segment_ns",
        BIGINT,
        "The first segment with payload in this direction; null without any.",
        lambda of: of.way.first_ns or None,
        unit="ns",
    ),
    Column(
        "last_segment_ns",
        BIGINT,
        "The last one.",
        lambda of: of.way.last_ns or None,
        unit="ns",
    ),
    Column("bytes", BIGINT, "Payload, each byte once.", lambda of: of.way.bytes, unit="bytes"),
    _count("segments", "Segments with payload, those that were sent again too."),
    _count("retransmits", "Segments that were sent again."),
    Column(
        "retransmitted_bytes",
        BIGINT,
        "Their payload.",
        lambda of: of.way.retransmitted_bytes,
        unit="bytes",
    ),
    _count("timeouts", "Those of them that the sender's timer sent, after a silence of 200 ms."),
    _count("out_of_order", "Segments that others overtook."),
    _count("captured_twice", "Segments that were recorded twice, but sent once."),
    _count("zero_windows", "How often the receiver closed its window completely."),
    _wait("stalled_ns", "How long it stayed closed."),
    Column(
        "mss_bytes",
        INT,
        "The largest payload that the receiver takes, by its SYN; null if that was not seen.",
        lambda of: of.way.mss,
        unit="bytes",
    ),
    Column(
        "window_scale",
        INT,
        "By how many bits the receiver offers to shift its window; null if by none.",
        lambda of: of.way.window_scale,
        unit="bits",
    ),
    *_spread(
        "window",
        {"least": "The smallest", "median": "The median", "most": "The largest"},
        "bytes",
        "window of the receiver; null if its scale is not known.",
    ),
    *_spread(
        "in_flight",
        {"median": "The median", "p95": "The 95th percentile", "most": "The most"},
        "bytes",
        "of what was sent and not acknowledged, after each segment.",
    ),
    *_spread(
        "ack_rtt_ns",
        {
            "least": "The shortest",
            "median": "The median",
            "p95": "The 95th percentile",
            "most": "The longest",
        },
        "ns",
        "time from a segment to its acknowledgement, seen from where packets were recorded.",
    ),
    _wait("idle_ns", "Waits with all acknowledged: there was nothing to send."),
    _wait("window_full_ns", "Waits for room in the receiver's window."),
    _wait("window_closed_ns", "The same, where the receiving program left bytes unread."),
    _wait("recovery_ns", "Waits until something lost had arrived."),
    _wait("held_ns", "Other waits: bytes were in flight, and the window had room for more."),
    Column(
        "client_rtt_ns",
        BIGINT,
        "The shortest round trip from where packets were recorded to the client; null if unknown.",
        lambda of: of.tcp.client_rtt_ns,
        unit="ns",
    ),
    Column(
        "broker_rtt_ns",
        BIGINT,
        "The same to the broker.",
        lambda of: of.tcp.broker_rtt_ns,
        unit="ns",
    ),
    Column(
        "rtt_ns", BIGINT, "The sum of both, between the ends.", lambda of: of.tcp.rtt_ns, unit="ns"
    ),
    Column(
        "vantage",
        STRING,
        "Where packets were recorded: `client`, `broker`, `between`, `local` or `unknown`.",
        lambda of: of.tcp.vantage.value,
    ),
    Column(
        "syns",
        BIGINT,
        "SYNs of the client; more than one: sent again.",
        lambda of: of.connection.syns,
    ),
    Column(
        "has_handshake",
        BOOLEAN,
        "Whether the options of both SYNs were seen.",
        lambda of: of.tcp.has_handshake,
    ),
    Column(
        "window_scaling",
        STRING,
        "Who offered to scale windows, as windows above 64 KiB take: `on` if both, `client_only`, "
        "`broker_only`, `off`, or `unknown` without the SYNs.",
        lambda of: of.tcp.window_scaling.value,
    ),
    Column(
        "has_sack",
        BOOLEAN,
        "Whether both offered selective acknowledgements; null without the SYNs.",
        lambda of: of.tcp.has_sack,
    ),
    Column(
        "has_timestamps",
        BOOLEAN,
        "Whether both offered timestamps; null without the SYNs.",
        lambda of: of.tcp.has_timestamps,
    ),
)

TCP: Final = Table(
    "tcp",
    "What TCP did in one direction of a connection; it is there only when asked for.",
    ("connection_id", "direction"),
    _COLUMNS,
)

_cells = cells_of(_COLUMNS)


def tcp_rows(connection: Connection) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `tcp` of a connection; none if its TCP was not followed."""
    if connection.tcp is not None:
        for name in (REQUEST, RESPONSE):
            yield _cells(DirectionFacts(connection, connection.tcp, name))
