"""Transports: move bytes on and off one socket, and never block.

`Transport` is what a channel needs of one, `PlaintextTransport` is TCP as it is, and TLS is in
`kdiag.net.tls.transport`.

Source: Kafka's `TransportLayer`.
"""

import errno
import os
import socket
from typing import Protocol

from kdiag.net.tcp.sockets import finish_connect


class EndOfStreamError(OSError):
    """The peer has closed its direction: there will be nothing more to read."""


def file_ends(position: int) -> OSError:
    """Return the error for a file that was cut while it was being sent."""
    return OSError(errno.EIO, f"the file to be sent ends before byte {position}")


class Transport(Protocol):
    """One socket, plaintext or TLS; every method returns at once.

    A Selector registers the socket and asks `wants_write` after each step; a Channel reads and
    writes. Both sides of a connection use the same class.
    """

    @property
    def peer(self) -> str:
        """Return `host:port` of the other end, as connected to; brackets around IPv6."""
        ...

    def fileno(self) -> int:
        """Return the socket's file descriptor; -1 once closed."""
        ...

    def finish_connect(self) -> None:
        """Finish a non-blocking connect.

        Raises:
            OSError: if it failed.
        """
        ...

    @property
    def is_ready(self) -> bool:
        """Return whether bytes of the layer above can be read and written."""
        ...

    def handshake(self) -> None:
        """Continue the handshake as far as the socket allows; do nothing once it is ready.

        Raises:
            AuthenticationError: if either end refuses the other (a certificate, a protocol
                version); another attempt will not help.
            OSError: if the connection broke.
        """
        ...

    def read_into(self, buffer: memoryview) -> int:
        """Read available bytes into the buffer and return how many; 0 is none yet.

        Raises:
            EndOfStreamError: if the peer has closed and everything before was read.
            AuthenticationError: if the peer refuses us after the handshake (TLS 1.3).
            OSError: if the connection broke.
        """
        ...

    def write(self, data: memoryview) -> int:
        """Accept bytes to be sent and return how many; 0 is none for now.

        Raises:
            OSError: if the connection broke.
        """
        ...

    def transfer_from(self, fd: int, position: int, count: int) -> int:
        """Accept bytes of a file to be sent and return how many; 0 is none for now.

        Args:
            fd: the file's descriptor.
            position: the first byte.
            count: the most bytes, at least one.

        Raises:
            OSError: if the connection broke, or the file ends before the position.
        """
        ...

    def flush(self) -> bool:
        """Send accepted bytes that still wait; return whether none is left.

        Raises:
            OSError: if the connection broke.
        """
        ...

    @property
    def has_pending_writes(self) -> bool:
        """Return whether accepted bytes still wait for the socket."""
        ...

    @property
    def has_bytes_buffered(self) -> bool:
        """Return whether `read_into` may return bytes that the selector cannot see."""
        ...

    @property
    def wants_write(self) -> bool:
        """Return whether the transport itself waits for the socket to become writable."""
        ...

    def close(self) -> None:
        """End TLS as far as the socket allows, and close it; a second call does nothing."""
        ...


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
        """Finish a non-blocking connect.

        Raises:
            OSError: if it failed; `errno` says how.
        """
        finish_connect(self._socket, self.peer)

    def handshake(self) -> None:
        """Do nothing: plaintext is ready from the start."""

    def read_into(self, buffer: memoryview) -> int:
        """Read available bytes into the buffer and return how many; 0 is none yet.

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
        """Hand bytes to the socket and return how many it accepted; 0 is none for now.

        Raises:
            OSError: if the connection broke.
        """
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0

    def transfer_from(self, fd: int, position: int, count: int) -> int:
        """Have the system move bytes of a file to the socket and return how many; 0 is none now.

        They do not enter this process (`sendfile`).

        Raises:
            OSError: if the connection broke, or the file ends before the position.
        """
        try:
            sent = os.sendfile(self._socket.fileno(), fd, position, count)
        except BlockingIOError:
            return 0
        if sent == 0:
            raise file_ends(position)
        return sent

    def flush(self) -> bool:
        """Return True: nothing waits in plaintext."""
        return True

    def close(self) -> None:
        """Close the socket; a second call does nothing."""
        self._socket.close()
