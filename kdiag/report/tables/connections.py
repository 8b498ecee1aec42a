"""The columns of `connections` and `gaps`."""

from typing import Any, Final

from kdiag.exchange.model import Connection, Gap
from kdiag.report.tables.column import (
    BIGINT,
    BROKER,
    CLIENT,
    CLIENT_HOST,
    CONNECTION_ID,
    STRING,
    TIMESTAMP,
    Column,
    Table,
)
from kdiag.report.tables.exchanges import NS_PER_US, client_host

CONNECTIONS: Final = Table(
    "connections",
    "A TCP connection; a reused 4-tuple is a new one.",
    ("connection_id",),
    (
        Column("connection", BIGINT, "", "Its number within one run."),
        CONNECTION_ID,
        CLIENT,
        CLIENT_HOST,
        BROKER,
        Column("protocol", STRING, "", "`kafka`, `tls`, `http`, `redis`, `empty` or `unknown`."),
        Column("tls_version", STRING, "", "Of the TLS handshake, if there was one."),
        Column("sni", STRING, "", "The server name that the client gave there."),
        Column("first_time", TIMESTAMP, "", "Its first packet, UTC."),
        Column("first_ns", BIGINT, "ns", "The same since 1970."),
        Column("last_time", TIMESTAMP, "", "Its last packet, UTC."),
        Column("last_ns", BIGINT, "ns", "The same since 1970."),
        Column("requests", BIGINT, "", "Frames from the client."),
        Column("responses", BIGINT, "", "Frames from the broker."),
        Column("request_bytes", BIGINT, "bytes", "TCP payload from the client, each byte once."),
        Column("response_bytes", BIGINT, "bytes", "TCP payload from the broker, each byte once."),
        Column("duplicates", BIGINT, "", "Segments that carried nothing new."),
        Column("gaps", BIGINT, "", "Holes in what was captured, in either direction."),
        Column("gap_bytes", BIGINT, "bytes", "What is missing in them."),
        Column("close_reason", STRING, "", "`fin`, `rst`, `reused`, `end of capture` or `idle`."),
        Column("client_software_name", STRING, "", "What the client called itself (KIP-511)."),
        Column("client_software_version", STRING, "", "The version that it gave."),
    ),
)

GAPS: Final = Table(
    "gaps",
    "Bytes of a connection that the capture lacks, or of which no frame could be made.",
    ("connection_id", "direction", "stream_offset"),
    (
        Column("connection", BIGINT, "", "Number of the connection within one run."),
        CONNECTION_ID,
        CLIENT,
        CLIENT_HOST,
        BROKER,
        Column("direction", STRING, "", "`request` (client to broker) or `response`."),
        Column("time", TIMESTAMP, "", "When it was given up to wait for them, UTC."),
        Column("time_ns", BIGINT, "ns", "The same since 1970."),
        Column("stream_offset", BIGINT, "bytes", "Where in that direction they start, from 0."),
        Column("bytes", BIGINT, "bytes", "How many there are."),
        Column("reason", STRING, "", "Why they are given up."),
    ),
)


def connection_row(connection: Connection) -> tuple[Any, ...]:
    """Return a row of `connections`."""
    name, version = connection.client_software or (None, None)
    return (
        connection.number,
        connection.connection_id,
        connection.client,
        client_host(connection),
        connection.broker,
        connection.protocol.value,
        connection.tls_version,
        connection.sni,
        connection.first_ns // NS_PER_US,
        connection.first_ns,
        connection.last_ns // NS_PER_US,
        connection.last_ns,
        connection.requests,
        connection.responses,
        connection.request_bytes,
        connection.response_bytes,
        connection.duplicates,
        connection.gaps,
        connection.gap_bytes,
        connection.close_reason,
        name or None,
        version or None,
    )


def gap_row(gap: Gap) -> tuple[Any, ...]:
    """Return a row of `gaps`."""
    connection = gap.connection
    return (
        connection.number,
        connection.connection_id,
        connection.client,
        client_host(connection),
        connection.broker,
        gap.direction,
        gap.time_ns // NS_PER_US,
        gap.time_ns,
        gap.offset,
        gap.size,
        gap.reason,
    )
