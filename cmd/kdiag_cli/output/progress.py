"""How far work has come, on stderr: a line that is written over while a person waits.

    ━━━━━━━━╸━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  20% 2.0/10.0 GB 400.0 MB/s 0:00:20

It shows on terminals only, after a second, and as wide as they are at that moment; until then, and
anywhere else, it costs nothing. rich draws it, but does not display it: that would hide the cursor
as well, and leave it hidden if the program is killed.
"""

import sys
from typing import TYPE_CHECKING, Final

from kdiag.clock import NS_PER_S, Clock, SystemClock
from kdiag.exchange.line.phrase import count
from kdiag_cli.output.terminal import (
    Output,
    can_write_over,
    clipped,
    harmless,
    width_of,
    write_over,
)

if TYPE_CHECKING:
    from rich import progress

_EVERY_NS: Final = 200_000_000
_PATIENCE_NS: Final = 1_000_000_000


class _Line:
    """A line on stderr that is not written too often."""

    def __init__(self, clock: Clock | None = None, patience_ns: int = 0) -> None:
        """Start the clock, by default the system's; there is no line before its patience ends."""
        self._clock = clock or SystemClock()
        self._next_ns = self._clock.monotonic_ns() + patience_ns
        self._is_shown = False

    def is_due(self) -> bool:
        """Return whether to write it now; then it will not be due for a while."""
        now_ns = self._clock.monotonic_ns()
        if now_ns < self._next_ns:
            return False
        self._next_ns = now_ns + _EVERY_NS
        return can_write_over(sys.stderr)

    def write(self, text: str) -> None:
        """Write it; the text must fit."""
        self._is_shown = True
        write_over(text)

    def clear(self) -> None:
        """Remove the line, so that something else can be written."""
        if self._is_shown:
            self._is_shown = False
            write_over()


class StepProgress(_Line):
    """Shows which step of a measurement is done, and how far it is.

    It is text alone: rich would take half a millisecond each time, and 40 the first time, of what
    is being measured.
    """

    def update(self, step: str, part: float) -> None:
        """Say what is being done, and how much of it is done, from 0 to 1."""
        if self.is_due():
            text = f"{max(0.0, min(1.0, part)):4.0%}, {harmless(step)}"
            self.write(clipped(text, width_of(sys.stderr) - 1))


class LiveStatus(_Line):
    """Shows what an interface has brought, below the lines that come of it."""

    def __init__(self, clock: Clock | None = None) -> None:
        """Start the clock."""
        super().__init__(clock)
        self._start_ns = self._clock.monotonic_ns()
        self._text = ""

    def update(self, packets: int, exchanges: int, connections: int, dropped: int) -> None:
        """Say what there is; a line that was removed for others comes back below them at once."""
        if not self.is_due():
            if self._text and not self._is_shown:
                self.write(self._text)
            return
        seconds = (self._clock.monotonic_ns() - self._start_ns) // NS_PER_S
        minutes, seconds = divmod(seconds, 60)
        lost = f", {dropped:,} dropped by the kernel" if dropped else ""
        text = (
            f"live {minutes}:{seconds:02}  {count(packets, 'packet')}, "
            f"{count(connections, 'connection')}, {count(exchanges, 'exchange')}{lost}"
        )
        self._text = clipped(text, width_of(sys.stderr) - 1)
        self.write(self._text)


class ReadingProgress(_Line):
    """Shows how much of something is read."""

    def __init__(self, total_bytes: int | None, clock: Clock | None = None) -> None:
        """Start the clock.

        Args:
            total_bytes: the size of the inputs; None if it is not known.
            clock: the clock of tests.
        """
        super().__init__(clock, _PATIENCE_NS)
        self._total_bytes = total_bytes
        self._bar: progress.Progress | None = None

    def update(self, bytes_read: int) -> None:
        """Say how many bytes are read."""
        if not self.is_due():
            return
        from kdiag_cli.output.drawing import console_of, drawn  # noqa: PLC0415 - rich: 60 ms

        self._bar = self._bar or self._make_bar()
        [task_id] = self._bar.task_ids
        self._bar.update(task_id, completed=bytes_read)
        screen = Output(sys.stderr)
        console = console_of(screen, width_of(sys.stderr) - 1)
        self.write(next(drawn(console, self._bar.get_renderable())))

    def _make_bar(self) -> "progress.Progress":
        from rich import progress  # noqa: PLC0415 - rich: 60 ms, after a second only

        bar = progress.Progress(
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.DownloadColumn(),
            progress.TransferSpeedColumn(),
            progress.TimeRemainingColumn(),
            auto_refresh=False,
            get_time=lambda: self._clock.monotonic_ns() / NS_PER_S,
        )
        bar.add_task("", total=self._total_bytes)
        return bar
