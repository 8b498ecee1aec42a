"""The status line of `kdiag tail` on a terminal's stderr.

orders: 12,345 records, 3,210/s; 1,204 to the end, 1,204 to the last stable offset; 1 reconnect
"""

import sys
from collections.abc import Iterable
from typing import Final, TextIO

from kdiag.client.fetch.position import FetchPosition, Notice, NoticeKind
from kdiag.clock import NS_PER_S, Clock
from kdiag_cli.output.terminal import can_write_over, clipped, width_of, write_over

_EVERY_NS: Final = 200_000_000
_PATIENCE_NS: Final = 1_000_000_000
"""How long to wait with the first line: a quick command needs none."""
_RATE_NS: Final = 1_000_000_000


class TailStatus:
    """A line that is rewritten in place, on terminals only."""

    def __init__(self, clock: Clock, stream: TextIO | None = None) -> None:
        """Start to count.

        Args:
            clock: for the rate.
            stream: where to; stderr by default.
        """
        self._clock = clock
        self._stream = stream or sys.stderr
        self._is_shown = False
        self._records = 0
        self._reconnects = 0
        self._next_ns = clock.monotonic_ns() + _PATIENCE_NS
        self._rate = 0.0
        self._rate_since = (clock.monotonic_ns(), 0)

    def count(self, records: int, notices: Iterable[Notice]) -> None:
        """Count printed records and notices."""
        self._records += records
        self._reconnects += sum(each.kind is NoticeKind.DISCONNECTED for each in notices)

    def show(self, positions: Iterable[FetchPosition]) -> None:
        """Write the line, a few times a second."""
        now_ns = self._clock.monotonic_ns()
        if now_ns < self._next_ns or not can_write_over(self._stream):
            return
        self._next_ns = now_ns + _EVERY_NS
        self._is_shown = True
        text = clipped(self.text(list(positions), now_ns), width_of(self._stream) - 1)
        write_over(text, self._stream)

    def clear(self) -> None:
        """Remove the line to make room for other output."""
        if self._is_shown:
            self._is_shown = False
            self._next_ns = 0
            write_over(stream=self._stream)

    def text(self, positions: list[FetchPosition], now_ns: int) -> str:
        """Return the line."""
        self._measure(now_ns)
        parts = [f"{self._records:,} records, {self._rate:,.0f}/s", _lag(positions)]
        leaderless = sum(each.leader_id is None for each in positions)
        if leaderless:
            parts.append(f"{leaderless} of {len(positions)} partitions without a leader")
        if self._reconnects:
            parts.append(f"{self._reconnects} reconnect{'s' * (self._reconnects > 1)}")
        return "; ".join(parts)

    def _measure(self, now_ns: int) -> None:
        """Update the rate, every second."""
        since_ns, records = self._rate_since
        if now_ns - since_ns >= _RATE_NS:
            self._rate = (self._records - records) * NS_PER_S / (now_ns - since_ns)
            self._rate_since = now_ns, self._records


def _lag(positions: list[FetchPosition]) -> str:
    """Return the lag to the end, and to the last stable offset where it differs."""
    known = [each for each in positions if each.high_watermark >= 0]
    if not known:
        return "nothing heard yet"
    to_end = sum(max(each.high_watermark - each.offset, 0) for each in known)
    stable = [each for each in known if each.last_stable_offset >= 0]
    to_stable = sum(max(each.last_stable_offset - each.offset, 0) for each in stable)
    text = f"{to_end:,} to the end"
    return text if to_stable == to_end else f"{text}, {to_stable:,} to the last stable offset"
