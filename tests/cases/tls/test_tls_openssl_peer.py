"""What only OpenSSL's own server does on command: a second handshake, new keys."""

import selectors
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kdiag.net.tls.context import TlsSettings, client_context
from kdiag.net.tls.transport import TlsTransport
from secure_ends.tls_pair import HOST
from secure_ends.tls_server import openssl_server

pytestmark = pytest.mark.thorough


class Session:
    """A transport that has shaken hands with OpenSSL's own server, which obeys commands."""

    def __init__(self, server: subprocess.Popen[bytes], port: int, folder: Path) -> None:
        context = client_context(TlsSettings(truststore_location=str(folder / "ec.pem")))
        self._server = server
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.settimeout(0)
        self.transport = TlsTransport(self._socket, f"{HOST}:9093", context, HOST)
        self.transport.handshake()
        while not self.transport.is_ready:
            self.wait()
            self.transport.handshake()

    def command(self, line: bytes) -> None:
        """Have the server do something, or send a line."""
        assert self._server.stdin is not None
        self._server.stdin.write(line + b"\n")
        self._server.stdin.flush()

    def wait(self) -> None:
        """Wait until something has come."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            selector.select()

    def read(self, size: int) -> bytes:
        """Wait until so many bytes have come."""
        buffer = memoryview(bytearray(size))
        filled = 0
        while filled < size:
            self.wait()
            filled += self.transport.read_into(buffer[filled:])
        return bytes(buffer)


@pytest.fixture
def obedient(
    tmp_path: Path, request: pytest.FixtureRequest, require_programs: Callable[..., None]
) -> Iterator[Session]:
    """Return a session with a server that was given one option."""
    require_programs("openssl")
    with openssl_server(tmp_path, request.param) as (server, port):
        session = Session(server, port, tmp_path)
        yield session
        session.transport.close()


@pytest.mark.parametrize("obedient", ["-tls1_2"], indirect=True)
def test_a_second_handshake_is_refused(obedient: Session) -> None:
    """A server that wants to negotiate again loses the connection; nothing is answered."""
    obedient.command(b"hello")
    assert obedient.read(6) == b"hello\n"
    obedient.command(b"r")

    with pytest.raises(ConnectionAbortedError, match="wants to negotiate TLS again"):
        obedient.read(1)

    assert not obedient.transport.has_pending_writes


@pytest.mark.parametrize("obedient", ["-tls1_3"], indirect=True)
def test_new_keys_are_taken_and_given(obedient: Session) -> None:
    """TLS 1.3 changes keys without a handshake, and the server hears us with ours."""
    obedient.command(b"hello")
    assert obedient.read(6) == b"hello\n"
    obedient.command(b"K")
    obedient.wait()

    assert obedient.transport.read_into(memoryview(bytearray(1))) == 0
    assert obedient.transport.write(memoryview(b"answer\n")) == 7
    assert obedient.transport.flush()
    obedient.command(b"world")
    assert obedient.read(6) == b"world\n"
