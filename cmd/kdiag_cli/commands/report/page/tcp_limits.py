"""What limits the throughput of connections, as a table of a page."""

from collections.abc import Iterator, Sequence
from heapq import heappush, heappushpop
from typing import Final

from kdiag.clock import NS_PER_US
from kdiag.diagnosis.tcp.limit import DirectionLimit, Limit, limits_of
from kdiag.diagnosis.tcp.request_cycles import RequestCycles
from kdiag.exchange.model import Connection
from kdiag.exchange.tcp_facts import TcpDirection, TcpFacts
from kdiag_cli.output.pages.parts import Cell, PagePart, Quantity, SortableTable
from kdiag_cli.output.units import duration, with_unit

_MOST_CONNECTIONS: Final = 150
_COLUMNS: Final = (
    "client",
    "client id",
    "broker",
    "direction",
    "limit",
    "share",
    "MB/s",
    "ceiling MB/s",
    "round trip",
    "retransmits",
    "zero windows",
    "stalled",
)


class ConnectionLimitRows:
    """The rows of the connections with the most bytes."""

    def __init__(self) -> None:
        self._largest: list[tuple[int, int, list[Sequence[Cell]]]] = []
        self._judged = 0

    def parts(self) -> Iterator[PagePart]:
        """Yield the table; nothing without a connection that has a limit."""
        rows = [row for _, _, rows in sorted(self._largest, reverse=True) for row in rows]
        if rows:
            yield SortableTable(
                "What limits the throughput of connections",
                _COLUMNS,
                rows,
                "By the time that the sender waited, and for what; directions with few bytes are "
                "left out.",
                max(0, self._judged - len(self._largest)),
                "kdiag tune-buffers CAPTURE",
            )

    def add(self, connection: Connection, cycles: RequestCycles) -> None:
        """Keep the rows of a connection, if it is among those with the most bytes."""
        facts = connection.tcp
        if facts is None:
            return
        limits = limits_of(facts, cycles)
        directions = (
            ("requests", limits.requests, facts.requests),
            ("responses", limits.responses, facts.responses),
        )
        busy = [each for each in directions if each[1].limit is not Limit.QUIET]
        if not busy:
            return
        self._judged += 1
        moved = connection.request_bytes + connection.response_bytes
        rows = [_row(connection, facts, cycles, *each) for each in busy]
        entry = (moved, -connection.number, rows)
        if len(self._largest) < _MOST_CONNECTIONS:
            heappush(self._largest, entry)
        else:
            heappushpop(self._largest, entry)


def _row(  # noqa: PLR0913, PLR0917 - one for each fact
    connection: Connection,
    facts: TcpFacts,
    cycles: RequestCycles,
    name: str,
    limited: DirectionLimit,
    direction: TcpDirection,
) -> Sequence[Cell]:
    return (
        connection.client,
        cycles.client_id,
        connection.broker,
        name,
        limited.limit.replace("_", " "),
        Quantity(limited.share, str(with_unit(round(100 * limited.share), "percent"))),
        limited.mb_per_s,
        limited.ceiling_mb_per_s,
        _time(facts.rtt_ns),
        direction.retransmits,
        direction.zero_windows,
        _time(direction.stalled_ns),
    )


def _time(time_ns: int | None) -> Quantity | None:
    return None if time_ns is None else Quantity(time_ns / NS_PER_US, duration(time_ns))
