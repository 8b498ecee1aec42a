"""A transport without a socket: a test feeds it, limits it, and sees what was written.

It behaves as the real ones do: what is not there is 0 bytes, the end of the stream is an error.
"""

import os

from kdiag.net.transport import EndOfStreamError


class MemoryTransport:
    """One end of nothing.

    Attributes:
        incoming: what can be read.
        written: what was sent.
        room: how many bytes it takes from now on; None is without limit.
        holds_back: whether it keeps what it takes, as TLS does when the socket is full.
        is_ended: whether the stream ends behind `incoming`.
        read_sizes: how large the buffers were that it was asked to fill.
    """

    is_ready = True
    wants_write = False
    peer = "broker:9092"

    def __init__(self, incoming: bytes = b"") -> None:
        self.incoming = bytearray(incoming)
        self.written = b""
        self.room: int | None = None
        self.holds_back = False
        self.is_ended = False
        self.is_closed = False
        self.read_sizes: list[int] = []
        self._held = b""

    @property
    def has_pending_writes(self) -> bool:
        """Return whether something is held back."""
        return bool(self._held)

    @property
    def has_bytes_buffered(self) -> bool:
        """Return False: `incoming` stands for the socket."""
        return False

    def fileno(self) -> int:
        """Return that there is no socket."""
        return -1

    def finish_connect(self) -> None:
        """Do nothing."""

    def handshake(self) -> None:
        """Do nothing."""

    def read_into(self, buffer: memoryview) -> int:
        """Read what the test has fed."""
        self.read_sizes.append(len(buffer))
        count = min(len(buffer), len(self.incoming))
        if not count and self.is_ended:
            raise EndOfStreamError("the end")
        buffer[:count] = self.incoming[:count]
        del self.incoming[:count]
        return count

    def write(self, data: memoryview) -> int:
        """Take as much as there is room for."""
        count = len(data) if self.room is None else min(self.room, len(data))
        if self.room is not None:
            self.room -= count
        self._held += bytes(data[:count])
        self.flush()
        return count

    def transfer_from(self, fd: int, position: int, count: int) -> int:
        """Take as much of a file as there is room for."""
        return self.write(memoryview(os.pread(fd, count, position)))

    def flush(self) -> bool:
        """Send what is held, unless it is held back."""
        if not self.holds_back:
            self.written += self._held
            self._held = b""
        return not self._held

    def close(self) -> None:
        """Note that it is closed."""
        self.is_closed = True
