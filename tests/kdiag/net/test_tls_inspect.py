import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kdiag.clock import SystemClock
from kdiag.errors import AuthenticationError, ConfigError, Layer
from kdiag.net.address import Address
from kdiag.net.tls.context import TlsSettings
from kdiag.net.tls.transport import TlsTransport
from kdiag.net.tls_inspect import Inspection, inspect_tls
from secure_ends.certificates import EXPIRED
from secure_ends.tls_sockets import (
    AUTHORITY,
    CLIENT,
    HOST,
    SERVING,
    STRANGER,
    TRUSTING,
    identity,
    server_side,
)

SECOND_NS = 1_000_000_000
Serve = Callable[[socket.socket], None]


def serve_tls(settings: TlsSettings) -> Serve:
    """Return a server that shakes hands and then reads to the end, as a broker does."""
    context = server_side(settings)

    def serve(sock: socket.socket) -> None:
        transport = TlsTransport(sock, "client:1", context, None, is_server=True)
        try:
            while True:
                transport.handshake()
                transport.read_into(memoryview(bytearray(100)))
        except (AuthenticationError, OSError):
            transport.close()

    return serve


@contextmanager
def listening(serve: Serve) -> Iterator[Address]:
    """Return where a server listens that takes one connection after the other."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    sock, _ = listener.accept()
                except OSError:
                    return
                with sock:
                    serve(sock)

        thread = threading.Thread(target=accept)
        thread.start()
        yield Address(HOST, listener.getsockname()[1], "127.0.0.1", socket.AF_INET)
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def inspect(serve: Serve, settings: TlsSettings, timeout_ns: int = 20 * SECOND_NS) -> Inspection:
    """Inspect a server."""
    with listening(serve) as address:
        return inspect_tls(address, settings, SystemClock(), timeout_ns)


@pytest.fixture(params=["TLSv1.2", "TLSv1.3"])
def version(request: pytest.FixtureRequest) -> str:
    """Return each version that is spoken."""
    return str(request.param)


def test_a_good_listener_shows_version_suite_and_certificates(version: str) -> None:
    """With how long the handshake took, and without an error."""
    seen = inspect(serve_tls(SERVING), TRUSTING._replace(enabled_protocols=(version,)))

    assert (seen.version, seen.error) == (version, None)
    assert seen.cipher is not None
    assert [one.host_names for one in seen.certificates] == [(HOST, "127.0.0.1")]
    assert seen.handshake_ns is not None
    assert seen.handshake_ns > 0


def test_a_listener_that_is_not_accepted_shows_the_same_and_the_reason(version: str) -> None:
    """A second connection accepts it, so that the user learns what else there is to know."""
    broker = AUTHORITY.issue("middle", is_authority=True).issue("b", names=[HOST], life=EXPIRED)

    seen = inspect(
        serve_tls(identity(SERVING, broker)), TRUSTING._replace(enabled_protocols=(version,))
    )

    assert seen.version == version
    assert seen.error is not None
    assert seen.error.why.startswith("the certificate of the broker has expired on ")
    assert [one.subject for one in seen.certificates] == ["CN=b", "CN=middle"]
    assert [one.issuer for one in seen.certificates] == ["CN=middle", "CN=Test Root"]


@pytest.mark.parametrize("settings", [TRUSTING, identity(TRUSTING, STRANGER)])
def test_a_listener_that_does_not_accept_us_is_told_in_every_version(
    settings: TlsSettings, version: str
) -> None:
    """In TLS 1.3 that comes after the handshake; it is waited for."""
    serve = serve_tls(SERVING._replace(client_auth="required"))

    seen = inspect(serve, settings._replace(enabled_protocols=(version,)))

    assert isinstance(seen.error, AuthenticationError)
    assert seen.error.why.startswith("the broker refused the TLS handshake: ")
    assert seen.certificates[0].subject == "CN=broker"


def test_a_listener_that_accepts_our_certificate_is_fine(version: str) -> None:
    """The one that it requires."""
    settings = identity(TRUSTING, CLIENT)._replace(enabled_protocols=(version,))

    seen = inspect(serve_tls(SERVING._replace(client_auth="required")), settings)

    assert seen.error is None


def test_a_listener_without_tls_is_told() -> None:
    """There is nothing else to tell of it."""

    def answer(sock: socket.socket) -> None:
        sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    seen = inspect(answer, TRUSTING)

    assert seen[:4] == (None, None, (), None)
    assert seen.error is not None
    assert seen.error.why.startswith("the port does not speak TLS: a web server answered")


def test_a_listener_that_closes_at_once_is_told() -> None:
    """As a plaintext listener of Kafka does when it gets a handshake."""

    def close(sock: socket.socket) -> None:
        sock.recv(100)

    seen = inspect(close, TRUSTING)

    assert seen.error is not None
    assert seen.error.layer is Layer.TLS
    assert "the connection " in seen.error.why


def test_a_listener_that_says_nothing_is_given_up_in_time() -> None:
    """The error tells how long it was waited for."""

    def listen(sock: socket.socket) -> None:
        while sock.recv(1000):
            continue

    seen = inspect(listen, TRUSTING, SECOND_NS // 20)

    assert seen.error is not None
    assert seen.error.why.startswith("the broker did not answer our TLS handshake in 0.0")


def test_a_port_where_nobody_listens_is_no_fault_of_tls() -> None:
    """The layer is TCP."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = Address(HOST, listener.getsockname()[1], "127.0.0.1", socket.AF_INET)

    seen = inspect_tls(address, TRUSTING, SystemClock(), SECOND_NS)

    assert seen.error is not None
    assert (seen.error.layer, seen.error.why) == (Layer.TCP, "Connection refused")


def test_a_host_that_does_not_answer_is_no_fault_of_tls() -> None:
    """A connect that is not answered ends with the time."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = Address(HOST, listener.getsockname()[1], "127.0.0.1", socket.AF_INET)
        with socket.create_connection(listener.getsockname()):
            seen = inspect_tls(address, TRUSTING, SystemClock(), SECOND_NS // 20)

    assert seen.error is not None
    assert (seen.error.layer, seen.error.why) == (Layer.TCP, "no answer in time")


def test_settings_that_cannot_be_used_are_the_users_fault() -> None:
    """They are refused before anything is connected to."""
    address = Address(HOST, 1, "127.0.0.1", socket.AF_INET)

    with pytest.raises(ConfigError):
        inspect_tls(address, TlsSettings(truststore_location="/no"), SystemClock(), SECOND_NS)
