"""Two connected TCP sockets of this process, with nobody in between and nobody else able to come.

    ours, theirs = loopback_pair()      127.0.0.1:40001 <-> 127.0.0.1:40002

`socket.socketpair` gives two ends without addresses; these have ports and all that TCP has, so that
what they carry looks like any other connection. The listening socket is there for this moment
alone, and an end that some other process has connected to it meanwhile is closed.

Source: the fallback of `socket.socketpair` where the system has none.
"""

import socket
from typing import Final

_LOOPBACK: Final = "127.0.0.1"
_TIMEOUT_S: Final = 5.0


def loopback_pair() -> tuple[socket.socket, socket.socket]:
    """Return the end that has connected, and the end that was accepted; both do not block.

    Raises:
        OSError: if the system has no more sockets.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind((_LOOPBACK, 0))
        listener.listen()
        listener.settimeout(_TIMEOUT_S)
        ours = socket.create_connection(listener.getsockname(), _TIMEOUT_S)
        try:
            theirs = _accepted(listener, ours.getsockname())
        except OSError:
            ours.close()
            raise
    for sock in (ours, theirs):
        sock.settimeout(0)
    return ours, theirs


def _accepted(listener: socket.socket, wanted: tuple[str, int]) -> socket.socket:
    """Return the connection that comes from an address; others are closed."""
    while True:
        sock, peer = listener.accept()
        if peer == wanted:
            return sock
        sock.close()
