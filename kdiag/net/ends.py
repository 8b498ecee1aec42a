"""The two ends of a connected socket, as captures name them."""

import os
import socket

from kdiag.net.address import host_and_port


def ends_of(fileno: int) -> tuple[str, str]:
    """Return `ip:port` of this end and of the other, with brackets around IPv6.

    Args:
        fileno: the file descriptor of a connected TCP socket; it stays open.

    Raises:
        OSError: if it is not connected, any more.
    """
    with socket.socket(fileno=os.dup(fileno)) as sock:
        local, peer = sock.getsockname(), sock.getpeername()
    return host_and_port(*local[:2]), host_and_port(*peer[:2])
