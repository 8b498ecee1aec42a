"""What limits connections, for people and for programs.

CONNECTION  CLIENT           BROKER          DIRECTION  MB/S  LIMIT           SHARE ...
         1  10.0.0.1:40000   10.0.0.2:9092   requests   1.75  receive buffer   98 %
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from kdiag.diagnosis.tcp.limit import ConnectionLimits, DirectionLimit, Limit
from kdiag.diagnosis.tcp.request_cycles import RequestCycles
from kdiag.exchange.documents.tcp import tcp_document
from kdiag.exchange.model import Connection
from kdiag.exchange.tcp_facts import Spread, TcpDirection, TcpFacts
from kdiag.findings.finding import Finding
from kdiag_cli.output.result import milliseconds
from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import Output

_COLUMNS: Final = (
    TableColumn("CONNECTION"),
    TableColumn("CLIENT"),
    TableColumn("BROKER", 5),
    TableColumn("CLIENT-ID", 6),
    TableColumn("DIRECTION"),
    TableColumn("LIMIT"),
    TableColumn("SHARE-PCT", 2, unit="percent"),
    TableColumn("MB/S"),
    TableColumn("CEILING", 1),
    TableColumn("RTT-MS", 3, unit="ms"),
    TableColumn("WINDOW", 7, unit="bytes"),
    TableColumn("IN-FLIGHT", 8, unit="bytes"),
    TableColumn("RETRANSMITS", 4),
    TableColumn("ZERO-WINDOWS", 9),
    TableColumn("STALLED-MS", 10, unit="ms"),
)


class CapturedPath(NamedTuple):
    """A connection, what TCP did on it, and what limits it."""

    connection: Connection
    facts: TcpFacts
    turns: RequestCycles
    limits: ConnectionLimits
    findings: list[Finding]

    @property
    def is_busy(self) -> bool:
        """Return whether a direction carries enough to tell what limits it."""
        return any(limited.limit is not Limit.QUIET for _, limited, _ in self.directions)

    @property
    def directions(self) -> Sequence[tuple[str, DirectionLimit, TcpDirection]]:
        """Return both directions by name."""
        return (
            ("requests", self.limits.requests, self.facts.requests),
            ("responses", self.limits.responses, self.facts.responses),
        )


def document(path: CapturedPath) -> dict[str, Any]:
    """Return a connection in the shape that `--output json` promises."""
    connection, facts = path.connection, path.facts
    scales = (facts.responses.window_scale, facts.requests.window_scale)
    return {
        "connection": connection.number,
        "connection_id": connection.connection_id,
        "client": connection.client,
        "broker": connection.broker,
        "client_id": path.turns.client_id,
        "protocol": connection.protocol,
        "path": {
            "rtt_ms": milliseconds(facts.rtt_ns),
            "mss": min(filter(None, (facts.requests.mss, facts.responses.mss)), default=None),
            "window_scale": {"client": scales[0], "broker": scales[1]},
            "congestion_control": None,
        },
        "limits": {name: msgspec.to_builtins(limited) for name, limited, _ in path.directions},
        "tcp": tcp_document(facts),
    }


def print_paths(output: Output, paths: Sequence[CapturedPath], *, has_headers: bool = True) -> None:
    """Print a line for each direction with enough bytes to tell.

    People get the connections that moved most first; a pipe gets them by number.
    """
    if output.is_terminal:
        paths = sorted(paths, key=_moved_bytes, reverse=True)
    rows = [row for path in paths for row in _rows(path)]
    if rows:
        print_table(output, _COLUMNS, rows, has_headers=has_headers)


def _moved_bytes(path: CapturedPath) -> int:
    return path.connection.request_bytes + path.connection.response_bytes


def _rows(path: CapturedPath) -> Iterator[tuple[object, ...]]:
    for name, limited, direction in path.directions:
        if limited.limit is Limit.QUIET:
            continue
        yield (
            path.connection.number,
            path.connection.client,
            path.connection.broker,
            path.turns.client_id,
            name,
            limited.limit.replace("_", " "),
            round(100 * limited.share),
            limited.mb_per_s,
            limited.ceiling_mb_per_s,
            milliseconds(path.facts.rtt_ns),
            _median(direction.window),
            _median(direction.in_flight),
            direction.retransmits,
            direction.zero_windows,
            milliseconds(direction.stalled_ns),
        )


def _median(spread: Spread | None) -> int | None:
    return None if spread is None else spread.median
