"""The tables `connections`, `gaps` and `not_understood`.

A row for each TCP connection, for each hole in one, and for bytes in one that are no frame.
"""

from typing import Any, Final, NamedTuple

from kdiag.clock import NS_PER_US
from kdiag.exchange.line.phrase import hex_text
from kdiag.exchange.model import Connection, Gap
from kdiag.report.tables.column import (
    BIGINT,
    BOOLEAN,
    BROKER,
    CLIENT,
    CLIENT_HOST,
    CONNECTION_ID,
    STRING,
    TIMESTAMP,
    Column,
    Table,
    cells_of,
)


class ConnectionFacts(NamedTuple):
    """A connection, as the columns read it."""

    connection: Connection

    @property
    def software(self) -> tuple[str, str]:
        """Return the name and the version that the client gave; empty if it gave none."""
        return self.connection.client_software or ("", "")

    @property
    def sightings(self) -> str:
        """Return the other addresses."""
        return ", ".join(f"{each.client} > {each.broker}" for each in self.connection.sightings)

    @property
    def hops_ns(self) -> tuple[int | None, int | None]:
        """Return the hop of requests and that of responses to the last of the other addresses."""
        sightings = self.connection.sightings
        if not sightings:
            return None, None
        return sightings[-1].request_hop_ns, sightings[-1].response_hop_ns


_CONNECTION_COLUMNS: Final[tuple[Column[ConnectionFacts], ...]] = (
    Column("connection", BIGINT, "Its number within one run.", lambda of: of.connection.number),
    CONNECTION_ID,
    CLIENT,
    CLIENT_HOST,
    BROKER,
    Column(
        "protocol",
        STRING,
        "`kafka`, `tls`, `http`, `redis`, `empty` or `unknown`.",
        lambda of: of.connection.protocol,
    ),
    Column(
        "tls_version",
        STRING,
        "Of the TLS handshake, if there was one.",
        lambda of: of.connection.tls_version,
    ),
    Column(
        "sni", STRING, "The server name that the client gave there.", lambda of: of.connection.sni
    ),
    Column(
        "tls_problem",
        STRING,
        "Why its TLS was not made or cannot be read; null if nothing is wrong.",
        lambda of: of.connection.tls_problem,
    ),
    Column(
        "first_time",
        TIMESTAMP,
        "Its first packet, UTC.",
        lambda of: of.connection.first_ns // NS_PER_US,
    ),
    Column(
        "first_ns", BIGINT, "The same since 1970.", lambda of: of.connection.first_ns, unit="ns"
    ),
    Column(
        "last_time",
        TIMESTAMP,
        "Its last packet, UTC.",
        lambda of: of.connection.last_ns // NS_PER_US,
    ),
    Column("last_ns", BIGINT, "The same since 1970.", lambda of: of.connection.last_ns, unit="ns"),
    Column("requests", BIGINT, "Frames from the client.", lambda of: of.connection.requests),
    Column("responses", BIGINT, "Frames from the broker.", lambda of: of.connection.responses),
    Column(
        "request_bytes",
        BIGINT,
        "TCP payload from the client, each byte once.",
        lambda of: of.connection.request_bytes,
        unit="bytes",
    ),
    Column(
        "response_bytes",
        BIGINT,
        "TCP payload from the broker, each byte once.",
        lambda of: of.connection.response_bytes,
        unit="bytes",
    ),
    Column(
        "preamble",
        STRING,
        "What a proxy sent before it, such as `PROXY v1 from 10.0.0.1:51000`; null without one.",
        lambda of: of.connection.preamble,
    ),
    Column(
        "duplicates",
        BIGINT,
        "Segments that carried nothing new.",
        lambda of: of.connection.duplicates,
    ),
    Column(
        "gaps",
        BIGINT,
        "Holes in what was captured, in either direction.",
        lambda of: of.connection.gaps,
    ),
    Column(
        "gap_bytes",
        BIGINT,
        "What is missing in them.",
        lambda of: of.connection.gap_bytes,
        unit="bytes",
    ),
    Column(
        "not_understood",
        BIGINT,
        "How often bytes are in the capture of which no frame could be made.",
        lambda of: of.connection.not_understood,
    ),
    Column(
        "not_understood_bytes",
        BIGINT,
        "How many of them there are.",
        lambda of: of.connection.not_understood_bytes,
        unit="bytes",
    ),
    Column(
        "close_reason",
        STRING,
        "`fin`, `rst`, `reused`, `jump`, `end of capture` or `idle`; `refused` or `no answer` if it"
        " was never made.",
        lambda of: of.connection.close_reason,
    ),
    Column(
        "closed_by",
        STRING,
        "Who sent the first FIN or RST, `client` or `broker`; null if neither was seen.",
        lambda of: of.connection.closed_by,
    ),
    Column(
        "closed_ns",
        BIGINT,
        "When that was, since 1970.",
        lambda of: of.connection.closed_ns,
        unit="ns",
    ),
    Column(
        "client_software_name",
        STRING,
        "What the client called itself (KIP-511).",
        lambda of: of.software[0] or None,
    ),
    Column(
        "client_software_version",
        STRING,
        "The version that it gave.",
        lambda of: of.software[1] or None,
    ),
    Column(
        "sasl_mechanism",
        STRING,
        "The SASL mechanism that the client asked for, such as `SCRAM-SHA-512`.",
        lambda of: of.connection.sasl_mechanism,
    ),
    Column(
        "sasl_user",
        STRING,
        "Whom the client claimed to be there: no secret, at most 256 characters.",
        lambda of: of.connection.sasl_user,
    ),
    Column(
        "sightings",
        STRING,
        "Its other addresses, as before and after NAT: `client > broker, client > broker`.",
        lambda of: of.sightings or None,
    ),
    Column(
        "request_hop_ns",
        BIGINT,
        "How much later the last of these saw the client's first bytes.",
        lambda of: of.hops_ns[0],
        unit="ns",
    ),
    Column(
        "response_hop_ns",
        BIGINT,
        "How much sooner it saw the broker's SYN/ACK.",
        lambda of: of.hops_ns[1],
        unit="ns",
    ),
)

_GAP_COLUMNS: Final[tuple[Column[Gap], ...]] = (
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
    Column(
        "direction", STRING, "`request` (client to broker) or `response`.", lambda of: of.direction
    ),
    Column(
        "time",
        TIMESTAMP,
        "When the decoder gave them up, UTC.",
        lambda of: of.time_ns // NS_PER_US,
    ),
    Column("time_ns", BIGINT, "The same since 1970.", lambda of: of.time_ns, unit="ns"),
    Column(
        "stream_offset",
        BIGINT,
        "Where in that direction they start, from 0.",
        lambda of: of.offset,
        unit="bytes",
    ),
    Column("bytes", BIGINT, "How many there are.", lambda of: of.size, unit="bytes"),
    Column("reason", STRING, "Why they are given up.", lambda of: of.reason),
)

CONNECTIONS: Final = Table(
    "connections",
    "A TCP connection; a reused 4-tuple is a new one.",
    ("connection_id",),
    _CONNECTION_COLUMNS,
)

_PLACE_IN_STREAM: Final = ("connection_id", "direction", "stream_offset")

GAPS: Final = Table(
    "gaps",
    "Bytes of a connection that the capture lacks.",
    _PLACE_IN_STREAM,
    _GAP_COLUMNS,
)

_NOT_UNDERSTOOD_COLUMNS: Final[tuple[Column[Gap], ...]] = (
    *_GAP_COLUMNS,
    Column("packet", BIGINT, "Number of the packet with the first of them.", lambda of: of.packet),
    Column(
        "starts_with",
        STRING,
        "The first of them in hexadecimal, up to the first character of text.",
        lambda of: hex_text(of.starts_with),
    ),
    Column(
        "is_fault",
        BOOLEAN,
        "Whether Kafka does not understand them, either: a fault of their sender.",
        lambda of: of.is_fault,
    ),
)

NOT_UNDERSTOOD: Final = Table(
    "not_understood",
    "Bytes of a connection that are in the capture, of which no frame could be made.",
    _PLACE_IN_STREAM,
    _NOT_UNDERSTOOD_COLUMNS,
)

_connection_cells = cells_of(_CONNECTION_COLUMNS)
gap_row = cells_of(_GAP_COLUMNS)
not_understood_row = cells_of(_NOT_UNDERSTOOD_COLUMNS)


def connection_row(connection: Connection) -> tuple[Any, ...]:
    """Return a row of `connections`."""
    return _connection_cells(ConnectionFacts(connection))
