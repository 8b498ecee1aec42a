"""The plaintext transport: what is read and written is what crosses the socket.

Source: Kafka's `PlaintextTransportLayer`.
"""

import socket

from kdiag.net.tcp import finish_connect
from kdiag.net.transport import EndOfStreamError


class PlaintextTransport:
    """One TCP connection without encryption.

    Attributes:
        peer: `host:port` of the other end; brackets around IPv6.
    """

    is_ready = True
    has_pending_writes = False
    has_bytes_buffered = False
    wants_write = False

    def __init__(self, sock: socket.socket, peer: str) -> None:
        """Take over a non-blocking socket, connected or still connecting."""
        self._socket = sock
        self.peer = peer

    def __repr__(self) -> str:
        return f"<PlaintextTransport to {self.peer}>"

    def fileno(self) -> int:
        """Return the socket's file descriptor; -1 once closed."""
        return self._socket.fileno()

    def finish_connect(self) -> None:
        """Take the outcome of a non-blocking connect.

        Raises:
            OSError: if it failed; `errno` tells how.
        """
        finish_connect(self._socket, self.peer)

    def handshake(self) -> None:
        """Do nothing: plaintext is ready from the start."""

    def read_into(self, buffer: memoryview) -> int:
        """Read what is there into the buffer and return how many bytes; 0 is nothing yet.

        Raises:
            EndOfStreamError: if the peer has closed and everything before was read.
            OSError: if the connection broke.
        """
        try:
            count = self._socket.recv_into(buffer)
        except BlockingIOError:
            return 0
        if count == 0 and buffer:
            raise EndOfStreamError(f"{self.peer} has closed the connection")
        return count

    def write(self, data: memoryview) -> int:
        """Hand bytes to the socket and return how many it took; 0 is none for now.

        Raises:
            OSError: if the connection broke.
        """
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0

    def flush(self) -> bool:
        """Return True: nothing waits in plaintext."""
        return True

    def close(self) -> None:
        """Close the socket; a second call does nothing."""
        self._socket.close()
