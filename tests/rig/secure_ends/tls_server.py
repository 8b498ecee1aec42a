"""OpenSSL's own test server, which does on command what Python's TLS cannot: key updates, padding.

with tls_server(folder, "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256") as server:
    server.say(b"line")
    server.update_keys()
server.wire, server.keylog()
"""

import re
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from programs.child_program import ChildProgram
from recordings.tls_capture import Stretch
from secure_ends.tls_pair import HOST, make_certificate

_LISTENS: Final = re.compile(rb"ACCEPT .*:(\d+)\n")
_TIMEOUT_S: Final = 30


class TlsServer:
    """A connection to the server, seen from its client.

    Attributes:
        wire: what crossed the wire, in order.
    """

    def __init__(self, server: subprocess.Popen[bytes], port: int, folder: Path) -> None:
        self.wire: list[Stretch] = []
        self._server = server
        self._keylog = folder / "keylog"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(folder / "ec.pem")
        context.keylog_filename = str(self._keylog)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=HOST)
        self.socket = socket.create_connection(("127.0.0.1", port), _TIMEOUT_S)
        self._shake_hands()

    def say(self, line: bytes) -> None:
        """Have the server say something."""
        self._command(line + b"\n")
        heard = b""
        while heard != line + b"\n":
            heard += self._exchange()

    def update_keys(self) -> None:
        """Have the server change its key, and ask the client for the same."""
        self._command(b"K\n")
        assert self._exchange() == b""

    def renegotiate(self) -> None:
        """Have the server ask for a second handshake, and shake hands."""
        self._command(b"r\n")
        assert self._exchange() == b""
        self._shake_hands()

    def answer(self, data: bytes) -> None:
        """Have the client say something, behind what it owes the server."""
        self._tls.write(data)
        self._send()

    def keylog(self) -> bytes:
        """Return the secrets, as the client logged them."""
        return self._keylog.read_bytes()

    def _command(self, line: bytes) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(line)
        self._server.stdin.flush()

    def _shake_hands(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._send()
                self._receive()
            else:
                self._send()
                return

    def _exchange(self) -> bytes:
        """Receive something, answer to what TLS wants an answer to, and return the rest."""
        self._receive()
        try:
            return self._tls.read(1 << 16)
        except ssl.SSLWantReadError:
            return b""
        finally:
            self._send()

    def _receive(self) -> None:
        data = self.socket.recv(1 << 16)
        assert data, "the server has closed the connection"
        self.wire.append(Stretch(is_client=False, data=data))
        self._incoming.write(data)

    def _send(self) -> None:
        data = self._outgoing.read()
        if data:
            self.wire.append(Stretch(is_client=True, data=data))
            self.socket.sendall(data)


@contextmanager
def tls_server(folder: Path, *options: str) -> Iterator[TlsServer]:
    """Run `openssl s_server` with some options, and connect to it.

    Args:
        folder: for its certificate and the key log.
        *options: as `openssl s_server` takes them.
    """
    with openssl_server(folder, *options) as (server, port):
        connection = TlsServer(server, port, folder)
        with connection.socket:
            yield connection


@contextmanager
def openssl_server(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run `openssl s_server` with some options, and return it and its port.

    Args:
        folder: for its certificate, `ec.pem`.
        *options: as `openssl s_server` takes them.
    """
    certificate = str(make_certificate(folder))
    command = ["openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", certificate, *options]
    pipe = subprocess.PIPE
    with ChildProgram(command, stdin=pipe, stdout=pipe, stderr=pipe) as server:
        try:
            yield server, _port(server)
        finally:
            server.kill()


def _port(server: subprocess.Popen[bytes]) -> int:
    """Return the port that the server listens on, once it does."""
    assert server.stdout is not None
    for line in server.stdout:
        if match := _LISTENS.match(line):
            return int(match[1])
    raise RuntimeError("openssl s_server does not listen")
