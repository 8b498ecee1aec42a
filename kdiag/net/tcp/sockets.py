"""TCP sockets as Kafka sets them: non-blocking, TCP_NODELAY, keep-alive, buffer sizes if asked.

Source: Kafka's `Selector.configureSocketChannel`, `SocketServer`.
"""

import errno
import os
import socket
from contextlib import suppress
from typing import Final

from kdiag.net.address import Address, host_and_port

SYSTEM_DEFAULT: Final = -1
"""Leave the size of a socket's buffer to the operating system."""

_INTERNET: Final = frozenset((socket.AF_INET, socket.AF_INET6))


def configure(
    sock: socket.socket,
    *,
    send_buffer_bytes: int = SYSTEM_DEFAULT,
    receive_buffer_bytes: int = SYSTEM_DEFAULT,
) -> None:
    """Set the options of a socket, before it connects or after it was accepted.

    Args:
        sock: the socket.
        send_buffer_bytes: SO_SNDBUF, or `SYSTEM_DEFAULT`.
        receive_buffer_bytes: SO_RCVBUF, or `SYSTEM_DEFAULT`.

    Raises:
        OSError: if the system refuses one.
    """
    sock.settimeout(0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if sock.family in _INTERNET:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sizes = {
        socket.SO_SNDBUF: send_buffer_bytes,
        socket.SO_RCVBUF: receive_buffer_bytes,
    }
    for option, size_bytes in sizes.items():
        if size_bytes != SYSTEM_DEFAULT:
            sock.setsockopt(socket.SOL_SOCKET, option, size_bytes)


def start_connect(sock: socket.socket, address: Address) -> bool:
    """Start to connect a non-blocking socket and return whether it is connected already.

    Raises:
        OSError: if it failed at once.
    """
    number = sock.connect_ex((address.ip, address.port))
    if number in {errno.EINPROGRESS, errno.EWOULDBLOCK}:
        return False
    if number:
        raise OSError(number, os.strerror(number), address.peer)
    return True


def peer_of(sock: socket.socket) -> tuple[str, int]:
    """Return host and port of the other end of a connected socket; a local socket has no port.

    Raises:
        OSError: if it is not connected, or no longer.
    """
    name = sock.getpeername()
    if sock.family in _INTERNET:
        return name[0], name[1]
    return str(name) or "local", 0


def finish_connect(sock: socket.socket, peer: str) -> None:
    """Finish a non-blocking connect.

    Raises:
        OSError: if it failed; `errno` says how, and `peer` is its file name.
    """
    number = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if number:
        raise OSError(number, os.strerror(number), peer)


def hang_up(sock: socket.socket) -> None:
    """End both directions of a connection, whose socket another thread uses, and will close."""
    with suppress(OSError):  # the peer was faster
        sock.shutdown(socket.SHUT_RDWR)


def ends_of(fileno: int) -> tuple[str, str]:
    """Return `ip:port` of this end and of the other, with brackets around IPv6.

    Args:
        fileno: the file descriptor of a connected TCP socket; it stays open.

    Raises:
        OSError: if it is not connected, or no longer.
    """
    with socket.socket(fileno=os.dup(fileno)) as sock:
        local, peer = sock.getsockname(), sock.getpeername()
    return host_and_port(*local[:2]), host_and_port(*peer[:2])
