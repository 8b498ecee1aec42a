"""Asks a port whether it speaks TLS, with one ClientHello on a connection of its own.

A TLS listener that hears plaintext may close without an alert, as does much that is no TLS
listener. Only an answer in TLS tells them apart:

    ClientHello    a TLS record: ServerHello, or an alert     it speaks TLS
    ClientHello    any other bytes, the end, or nothing       it does not, as far as one can tell

The handshake is not finished: no certificate is verified, and none of ours is shown.

Source: RFC 8446, sections 4.1.2 (ClientHello) and 5.1 (records).
"""

import socket
from contextlib import suppress
from typing import Final

from kdiag.clock import NS_PER_S
from kdiag.net.address import Address

LIMIT_NS: Final = NS_PER_S
"""How long the answer is waited for: a listener that could be connected to answers at once."""

_ALERT: Final = 0x15
_HANDSHAKE: Final = 0x16
_MAJOR: Final = 3
_HEAD_BYTES: Final = 2


def speaks_tls(address: Address, limit_ns: int = LIMIT_NS) -> bool:
    """Return whether a port answers a ClientHello in TLS; False if it cannot be asked in time.

    Args:
        address: of the port.
        limit_ns: how long connecting may take, and each wait for a part of the answer.
    """
    if limit_ns <= 0:
        return False
    # ValueError: a name that TLS cannot carry
    with suppress(OSError, ValueError), socket.socket(address.family) as sock:
        sock.settimeout(limit_ns / NS_PER_S)
        sock.connect((address.ip, address.port))
        sock.sendall(client_hello(address.host))
        return _is_tls(_head(sock))
    return False


def client_hello(host: str) -> bytes:
    """Return a ClientHello, in its record."""
    import ssl  # noqa: PLC0415 - 8 ms, for few ports

    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    side = context.wrap_bio(incoming, outgoing, server_hostname=host)
    with suppress(ssl.SSLWantReadError):
        side.do_handshake()
    return outgoing.read()


def _head(sock: socket.socket) -> bytes:
    """Return the first bytes of the answer; fewer if it ends before."""
    head = b""
    while len(head) < _HEAD_BYTES and (more := sock.recv(_HEAD_BYTES - len(head))):
        head += more
    return head


def _is_tls(head: bytes) -> bool:
    return len(head) == _HEAD_BYTES and head[0] in {_ALERT, _HANDSHAKE} and head[1] == _MAJOR
