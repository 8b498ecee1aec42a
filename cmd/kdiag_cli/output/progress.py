"""How far reading has come, on stderr, while a person waits."""

from typing import Final

from kdiag.clock import NS_PER_S, Clock, SystemClock
from kdiag_cli.output.terminal import write_over

_EVERY_NS: Final = 200_000_000
_PATIENCE_NS: Final = 1_000_000_000
_MB: Final = 1_000_000


class Progress:
    """A line that is written over and over; it shows after a second, and on terminals only."""

    def __init__(self, total_bytes: int | None, clock: Clock | None = None) -> None:
        """Start the clock.

        Args:
            total_bytes: what there is to read; None if that is not known.
            clock: another one for tests.
        """
        self._clock = clock or SystemClock()
        self._total_bytes = total_bytes
        self._start_ns = self._clock.monotonic_ns()
        self._next_ns = self._start_ns + _PATIENCE_NS
        self._is_shown = False

    def update(self, bytes_read: int) -> None:
        """Say how many bytes are read."""
        now_ns = self._clock.monotonic_ns()
        if now_ns >= self._next_ns:
            self._next_ns = now_ns + _EVERY_NS
            self._is_shown = True
            write_over(self.text(bytes_read, now_ns - self._start_ns))

    def text(self, bytes_read: int, elapsed_ns: int) -> str:
        """Return rate, part and time left."""
        rate = bytes_read * NS_PER_S / max(elapsed_ns, 1)
        text = f"{bytes_read / _MB:,.0f} MB read, {rate / _MB:,.0f} MB/s"
        if self._total_bytes and rate:
            left_s = max(self._total_bytes - bytes_read, 0) / rate
            part = min(bytes_read / self._total_bytes, 1)
            text = f"{part:4.0%}, {text}, {left_s:,.0f} s left"
        return text

    def clear(self) -> None:
        """Remove the line, so that something else can be written."""
        if self._is_shown:
            self._is_shown = False
            write_over()
