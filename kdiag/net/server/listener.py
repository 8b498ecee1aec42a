"""A listening socket, and the thread that accepts its connections.

    with ServerListener("127.0.0.1", 0, processor.accept) as listener:
        listener.port

A process that has as many open files as it may cannot accept: the connection waits in the system's
queue, and is tried again a tenth of a second later rather than as fast as the processor can.

Source: Kafka's `SocketServer.Acceptor`.
"""

import errno
import logging
import socket
from collections.abc import Callable
from threading import Thread
from typing import Final, Self

from kdiag.clock import NS_PER_MS
from kdiag.errors import ConnectError, Layer
from kdiag.net.address import LARGEST_PORT, host_and_port
from kdiag.net.selector.poller import READ, Poller

LOG: Final = logging.getLogger(__name__)

_ID: Final = "listener"
_BACKLOG: Final = 512
_PAUSE_NS: Final = 100 * NS_PER_MS
_EXHAUSTED: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))


class ServerListener:
    """Accepts connections while a `with` block lasts; it listens from the beginning.

    Attributes:
        host: as it was asked for.
        port: where it listens.
    """

    def __init__(self, host: str, port: int, handle: Callable[[socket.socket], None]) -> None:
        """Listen.

        Args:
            host: a name or an address of this machine.
            port: 0 for any that is free.
            handle: takes each connection; it is called in the listener's thread.

        Raises:
            ConnectError: if nobody can listen there.
        """
        self.host = host
        self._handle = handle
        self._socket = _listen(host, port)
        self.port: int = self._socket.getsockname()[1]
        self._poller = Poller()
        self._is_closed = False
        self._thread = Thread(target=self._run, name=f"listener-{self.port}", daemon=True)

    def __enter__(self) -> Self:
        """Start to accept."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more; connections that were accepted stay."""
        self._is_closed = True
        self._poller.wakeup()
        if self._thread.ident is not None:
            self._thread.join()
        self._poller.close()
        self._socket.close()

    def __repr__(self) -> str:
        return f"<ServerListener {host_and_port(self.host, self.port)}>"

    def _run(self) -> None:
        while not self._is_closed:
            self._poller.watch(_ID, self._socket.fileno(), READ)
            if _ID in self._poller.wait(None):
                self._accept()

    def _accept(self) -> None:
        try:
            sock, _ = self._socket.accept()
        except (BlockingIOError, ConnectionError):
            return  # whoever knocked is gone
        except OSError as error:
            LOG.warning("cannot accept at port %d: %s", self.port, error)
            if error.errno in _EXHAUSTED:
                self._poller.forget(_ID)
                self._poller.wait(_PAUSE_NS)
            return
        self._handle(sock)


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        ConnectError: if that fails.
    """
    place = host_and_port(host, port)
    if not 0 <= port <= LARGEST_PORT:  # the system would take its last 16 bits
        why = f"cannot listen there: a port is from 0 to {LARGEST_PORT}"
        raise ConnectError(place, Layer.TCP, why)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        sock = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, ValueError) as error:
        raise ConnectError(place, Layer.DNS, f"cannot listen there: {error}") from None
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(_BACKLOG)
        sock.settimeout(0)
    except OSError as error:
        sock.close()
        fix = "Choose another port, or 0 for one that is free, and an address of this machine"
        raise ConnectError(place, Layer.TCP, f"cannot listen there: {error}", fix) from None
    return sock
