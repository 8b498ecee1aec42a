"""The rows of `connections` and `gaps`."""

from typing import Any

from kdiag.exchange.model import Connection, Gap
from kdiag.report.tables.exchanges import NS_PER_US, client_host


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
