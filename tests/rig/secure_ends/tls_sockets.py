"""Two TLS transports on two ends of a connection, driven by turns in one thread.

with connected(client_context, server_context) as ends:
    ends.shake_hands()
    ends.client.write(memoryview(b"question"))
"""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kdiag.net.tls.context import TlsSettings, client_context, server_context
from kdiag.net.tls.transport import TlsTransport
from secure_ends.certificates import Issued, make_authority

HOST: Final = "broker.example.test"
AUTHORITY: Final = make_authority("Test Root")
BROKER: Final = AUTHORITY.issue("broker", names=[HOST], ips=["127.0.0.1"])
CLIENT: Final = AUTHORITY.issue("client")
STRANGER: Final = make_authority("Strange Root").issue("stranger", names=[HOST])
TRUSTING: Final = TlsSettings(truststore_certificates=AUTHORITY.pem)
"""A client without a certificate."""
SERVING: Final = TRUSTING._replace(
    keystore_certificate_chain=BROKER.pem, keystore_key=BROKER.key_pem
)
_ROUNDS: Final = 1000


class Ends:
    """Both ends of one connection, and their sockets."""

    def __init__(
        self,
        client: ssl.SSLContext,
        server: ssl.SSLContext,
        sockets: tuple[socket.socket, socket.socket],
        host: str = HOST,
    ) -> None:
        self.sockets = sockets
        for sock in sockets:
            sock.settimeout(0)
        self.client = TlsTransport(sockets[0], f"{host}:9093", client, host)
        self.server = TlsTransport(sockets[1], "client:1", server, None, is_server=True)

    def shake_hands(self) -> None:
        """Go on by turns until both are ready."""
        for _ in range(_ROUNDS):
            self.client.handshake()
            self.server.handshake()
            if self.client.is_ready and self.server.is_ready:
                return
        raise AssertionError("the handshake does not end")

    def close(self) -> None:
        """Close both sockets."""
        for sock in self.sockets:
            sock.close()


@contextmanager
def connected(client: ssl.SSLContext, server: ssl.SSLContext, host: str = HOST) -> Iterator[Ends]:
    """Return two ends on a pair of sockets, which carries bytes at once."""
    ends = Ends(client, server, socket.socketpair(), host)
    try:
        yield ends
    finally:
        ends.close()


@contextmanager
def connected_by_tcp(client: ssl.SSLContext, server: ssl.SSLContext) -> Iterator[Ends]:
    """Return two ends on a TCP connection over loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sock = socket.create_connection(listener.getsockname())
        accepted, _ = listener.accept()
    ends = Ends(client, server, (sock, accepted))
    try:
        yield ends
    finally:
        ends.close()


def client_side(settings: TlsSettings = TRUSTING) -> ssl.SSLContext:
    """Return a client's context that trusts the authority."""
    return client_context(settings)


def server_side(settings: TlsSettings = SERVING) -> ssl.SSLContext:
    """Return the context of the broker."""
    return server_context(settings)


def identity(settings: TlsSettings, issued: Issued) -> TlsSettings:
    """Return settings with a certificate and its key."""
    return settings._replace(keystore_certificate_chain=issued.pem, keystore_key=issued.key_pem)


def read_all(transport: TlsTransport, size: int) -> bytes:
    """Read until so many bytes are there."""
    buffer = memoryview(bytearray(size))
    filled = 0
    for _ in range(_ROUNDS):
        filled += transport.read_into(buffer[filled:])
        if filled == size:
            return bytes(buffer)
    raise AssertionError(f"{filled} of {size} bytes have come")
