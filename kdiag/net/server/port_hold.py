"""A port that is kept while nobody listens at it.

    hold = PortHold("127.0.0.1", 39211)
    ...                                   connections are refused; nobody else is given the port
    listener = ServerListener("127.0.0.1", 39211, accept)
    hold.close()

A server that is stopped and started again wants the port that its clients know. The system would
give a free one to anybody who asks for any, a client's own end included. Where that has happened
already, the hold is empty, and starting says what is wrong.
"""

import socket
from typing import Self

from kdiag.net.address import host_and_port


class PortHold:
    """Keeps a port until it is closed."""

    def __init__(self, host: str, port: int) -> None:
        """Take the port, if nobody has it but a listener that is about to close."""
        self._place = host_and_port(host, port)
        self._socket: socket.socket | None = None
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(address)
        except OSError:
            sock.close()
            return
        self._socket = sock

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the port."""
        self.close()

    def __repr__(self) -> str:
        return f"<PortHold {self._place}: {'empty' if self._socket is None else 'held'}>"

    def close(self) -> None:
        """Let go of the port."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
