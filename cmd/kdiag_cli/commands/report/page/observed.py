"""What captures tell beside their tables: findings, and what limits their connections.

`ObservedCaptures` stands in front of what writes the tables, and sees all that goes there.
"""

from collections.abc import Iterator, Sequence
from heapq import heappush, heappushpop
from typing import Final

from kdiag.clock import NS_PER_US
from kdiag.diagnosis.rebalance import findings as rebalance_findings
from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.diagnosis.rebalance.histories import histories_of
from kdiag.diagnosis.tcp import findings as tcp_findings
from kdiag.diagnosis.tcp.limit import ConnectionLimits, DirectionLimit, Limit, limits_of
from kdiag.diagnosis.tcp.request_cycles import RequestCycles
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Connection, Gap
from kdiag.exchange.tcp_facts import TcpDirection, TcpFacts
from kdiag_cli.captures.printer import Printer
from kdiag_cli.commands.report.page.findings import PageFindings
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


class ObservedCaptures:
    """Sees exchanges and connections on their way into tables.

    Attributes:
        findings: what they prove, so far.
    """

    def __init__(self, tables: Printer, names: TopicNames) -> None:
        """Begin.

        Args:
            tables: gets everything.
            names: of topics by their ids.
        """
        self.findings = PageFindings()
        self._tables = tables
        self._cycles: dict[int, RequestCycles] = {}
        self._events = CaptureEvents(names.name)
        self._largest: list[tuple[int, int, list[Sequence[Cell]]]] = []
        self._judged = 0

    def exchange(self, dissection: Dissection) -> None:
        """Count an exchange."""
        exchange = dissection.exchange
        self._cycles.setdefault(exchange.connection.number, RequestCycles()).add(exchange)
        self._events.add(dissection)
        self._tables.exchange(dissection)

    def gap(self, gap: Gap) -> None:
        """Pass a gap on."""
        self._tables.gap(gap)

    def connection(self, connection: Connection) -> None:
        """Judge a connection that has ended."""
        cycles = self._cycles.pop(connection.number, None) or RequestCycles()
        if connection.tcp is not None:
            limits = limits_of(connection.tcp, cycles)
            self.findings.add(tcp_findings.find(connection, limits, cycles))
            self._add_rows(connection, connection.tcp, cycles, limits)
        self._tables.connection(connection)

    def finish(self) -> None:
        """Judge the groups; the tables are complete then."""
        self._tables.finish()
        for history in histories_of(self._events.in_order(), "capture"):
            self.findings.add(rebalance_findings.find(history))

    def tcp_parts(self) -> Iterator[PagePart]:
        """Yield what limits the connections with the most bytes."""
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

    def _add_rows(
        self,
        connection: Connection,
        facts: TcpFacts,
        cycles: RequestCycles,
        limits: ConnectionLimits,
    ) -> None:
        """Keep the rows of a connection, if it is among those with the most bytes."""
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
