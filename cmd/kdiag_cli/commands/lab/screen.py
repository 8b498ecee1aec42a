"""What a person looks at while a lab runs: its state on stderr, written over twice a second.

    brokers   3, 1.2 MB/s between them
    replicas  4 partitions lack some, 1 have no leader
    topics    2 of 5 partitions
    traffic   1.2 MB/s in, 3.4 MB/s out
    requests  40/s, 12,345 in all
    clients   3 connections: librdkafka 2.10.0, apache-kafka-java 4.3.1
    groups    billing Stable 2
    waits     Produce 0, Fetch 3, Heartbeat 2

It is plain text, cut at the width of the terminal: a display of rich's would hide the cursor, and
leave it hidden if the program is killed. What has to be said is said above it.
"""

import sys
from threading import Lock
from typing import Final

from kdiag.clock import NS_PER_S, Clock
from kdiag.exchange.line.phrase import size
from kdiag.lab.broker.lab_status import GroupStatus, LabStatus
from kdiag_cli.output.terminal import (
    can_write_over,
    clipped,
    harmless,
    readable,
    say,
    table,
    width_of,
)

_UP: Final = "\x1b[{}A"
_CLEAR_BELOW: Final = "\r\x1b[J"


class LabScreen:
    """The state of a lab on a terminal; on anything else it shows nothing."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._lines = 0
        self._before: tuple[int, LabStatus] | None = None
        self.is_shown = can_write_over(sys.stderr)

    def __repr__(self) -> str:
        return f"<LabScreen of {self._lines} lines>"

    def show(self, status: LabStatus) -> None:
        """Show what goes on in the place of what went on."""
        if not self.is_shown:
            return
        width = width_of(sys.stderr) - 1
        lines = [clipped(line, width) for line in table(self._rows(status))]
        with self._lock:
            self._clear()
            encoding = sys.stderr.encoding or "utf-8"
            sys.stderr.write("".join(f"{readable(line, encoding)}\n" for line in lines))
            sys.stderr.flush()
            self._lines = len(lines)

    def say(self, text: str) -> None:
        """Say something above the state; from any thread."""
        with self._lock:
            self._clear()
            say(text)

    def clear(self) -> None:
        """Remove the state."""
        with self._lock:
            self._clear()
            sys.stderr.flush()

    def _clear(self) -> None:
        if self._lines:
            sys.stderr.write(_UP.format(self._lines) + _CLEAR_BELOW)
            self._lines = 0

    def _rows(self, status: LabStatus) -> list[tuple[str, str]]:
        now_ns = self._clock.monotonic_ns()
        before_ns, before = self._before or (now_ns, status)
        self._before = now_ns, status
        seconds = max((now_ns - before_ns) / NS_PER_S, 1e-9)
        requests = (status.requests - before.requests) / seconds
        in_per_s = (status.bytes_in - before.bytes_in) / seconds
        out_per_s = (status.bytes_out - before.bytes_out) / seconds
        between = (status.replication_bytes - before.replication_bytes) / seconds
        software = ", ".join(map(harmless, status.software)) or "-"
        groups = ", ".join(map(_group_text, status.groups)) or "-"
        waiting = ", ".join(f"{name} {count}" for name, count in status.waiting.items()) or "-"
        return [
            ("brokers", _brokers_text(status, between)),
            *_replicas_rows(status),
            ("topics", f"{status.topics} of {status.partitions} partitions"),
            ("traffic", f"{size(int(in_per_s))}/s in, {size(int(out_per_s))}/s out"),
            ("requests", f"{requests:,.0f}/s, {status.requests:,} in all"),
            ("clients", f"{status.connections} connections: {software}"),
            ("groups", groups),
            ("waits", waiting),
        ]


def _brokers_text(status: LabStatus, bytes_per_s: float) -> str:
    if status.nodes == 1 and not status.replication_bytes:
        return "1"
    return f"{status.nodes}, {size(int(bytes_per_s))}/s between them"


def _replicas_rows(status: LabStatus) -> list[tuple[str, str]]:
    """Return what partitions lack; nothing if they lack nothing."""
    if not status.under_replicated and not status.offline:
        return []
    lacking, offline = status.under_replicated, status.offline
    text = f"{lacking} partitions lack some, {offline} have no leader"
    return [("replicas", text)]


def _group_text(group: GroupStatus) -> str:
    return f"{harmless(group.group)} {group.state} {group.members}"
