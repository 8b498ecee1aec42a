"""Sends: outgoing frames, which survive partial writes.

Source: Kafka's `NetworkSend`, `ByteBufferSend`.
"""

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Final

from kdiag.clock import Clock
from kdiag.net.transport import Transport

LENGTH: Final = Struct(">i")
"""The length before a frame."""


class NetworkSend:
    """One frame for one channel: a four-byte length and that many bytes.

    Attributes:
        channel_id: the channel it goes to.
        first_write_ns: when its first bytes were handed to the transport, since 1970; None before.
        last_write_ns: when its last bytes were; None before the send is completed. Both are taken
            just before the write, so that a response never seems to overtake its request.
    """

    def __init__(self, channel_id: str, parts: Sequence[bytes]) -> None:
        """Prepare a frame of parts, such as header and body, in their order."""
        self.channel_id = channel_id
        self.first_write_ns: int | None = None
        self.last_write_ns: int | None = None
        # One piece, so that a small frame is one write and one packet in spite of TCP_NODELAY.
        self._data = b"".join((LENGTH.pack(sum(map(len, parts))), *parts))
        self._written = 0
        self._has_pending_writes = False

    def __repr__(self) -> str:
        written = f"{self._written} of {self.size_bytes} bytes"
        return f"<{type(self).__name__} to {self.channel_id}: {written}>"

    @property
    def size_bytes(self) -> int:
        """Return the size on the wire, length prefix included."""
        return len(self._data)

    @property
    def payload(self) -> bytes:
        """Return a copy of the frame without its length prefix."""
        return self._data[LENGTH.size :]

    @property
    def is_completed(self) -> bool:
        """Return whether the transport has accepted every byte and holds none back."""
        return self._written == self.size_bytes and not self._has_pending_writes

    def write_to(self, transport: Transport, clock: Clock) -> int:
        """Write what the transport accepts now and return how many bytes that is.

        A send may be completed by a write of 0 bytes: those that the transport held back went out.

        Raises:
            OSError: if the connection broke.
        """
        now_ns = clock.epoch_ns()
        taken = self._write_rest(transport) if self._written < self.size_bytes else 0
        self._written += taken
        if taken and self.first_write_ns is None:
            self.first_write_ns = now_ns
        self._has_pending_writes = not transport.flush()
        if self.is_completed:
            self.last_write_ns = now_ns
        return taken

    def _write_rest(self, transport: Transport) -> int:
        """Write what the transport accepts of the bytes that are left."""
        with memoryview(self._data)[self._written :] as rest:
            return transport.write(rest)


class RawSend(NetworkSend):
    """Bytes for one channel as they are: a part of a frame, or several frames.

    Attributes:
        on_completed: is called by a server's loop once the transport has every byte.
    """

    def __init__(self, channel_id: str, data: bytes, on_completed: Callable[[], object]) -> None:
        """Prepare bytes, which have a length prefix only if they are the start of a frame."""
        super().__init__(channel_id, ())
        self._data = data
        self.on_completed = on_completed

    @property
    def payload(self) -> bytes:
        """Return a copy of the bytes."""
        return self._data
