"""Selectors over TLS: what is not the same as without, seen from both ends of real connections."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TypeVar

import pytest

from client_ends.echo_server import PLAINTEXT, Loopback, Recorder, Security
from kdiag.errors import AuthenticationError, Layer
from kdiag.net.channel import ChannelState
from kdiag.net.receive import InvalidReceiveError
from kdiag.net.tls.context import TlsSettings
from kdiag.net.tls.failure import HandshakeBrokenError
from kdiag.net.tls.transport import TlsTransport
from secure_ends.tls_sockets import (
    CLIENT,
    HOST,
    SERVING,
    STRANGER,
    TRUSTING,
    client_side,
    identity,
    server_side,
)

T = TypeVar("T", bound=Exception)
MakeLoopback = Callable[[Security], Loopback]
REQUIRED = SERVING._replace(client_auth="required")


def tls(
    client: TlsSettings = TRUSTING, server: TlsSettings = SERVING, host: str = HOST
) -> Security:
    """Return a client and a server with settings of their own."""
    contexts = client_side(client), server_side(server)
    return Security(
        "tls",
        lambda sock, peer, name: TlsTransport(sock, peer, contexts[0], name),
        lambda sock, peer, _: TlsTransport(sock, peer, contexts[1], None, is_server=True),
        host,
    )


@pytest.fixture
def make_loopback() -> Iterator[MakeLoopback]:
    """Return a function from both ends' transports to a client and a server."""
    with ExitStack() as opened:
        yield lambda security: opened.enter_context(Loopback(security))


def end_of(loopback: Loopback, recorder: Recorder, kind: type[T]) -> tuple[ChannelState, T]:
    """Poll until one end has lost its connection, and return how."""
    loopback.poll_until(lambda: recorder.disconnected)
    (disconnection,) = recorder.disconnected.values()
    assert isinstance(disconnection.error, kind)
    return disconnection.state, disconnection.error


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_both_ends_can_prove_who_they_are(make_loopback: MakeLoopback, version: str) -> None:
    """A client that a server demands a certificate of is answered."""
    client = identity(TRUSTING, CLIENT)._replace(enabled_protocols=(version,))
    loopback = make_loopback(tls(client, REQUIRED))
    loopback.connect("1")

    loopback.client.send("1", b"question")

    loopback.poll_until(lambda: loopback.client.payloads == [b"question"])


@pytest.mark.parametrize("is_client", [True, False])
def test_either_end_may_leave_while_tls_holds_bytes(
    is_client: bool,  # noqa: FBT001 - a parameter of the test
    make_loopback: MakeLoopback,
) -> None:
    """Frames that were read from the socket with the first do not keep a closed channel alive."""
    loopback = make_loopback(tls())
    server_id = loopback.connect("1")
    server = loopback.server
    server.is_echoing = False
    server.selector.mute(server_id)
    for number in range(3):
        loopback.client.send("1", b"question %d" % number)
        loopback.poll_until(lambda: len(loopback.client.sends) > number)  # noqa: B023 - at once
    server.selector.unmute(server_id)
    loopback.poll_until(lambda: server.receives)
    channel = server.selector.channel(server_id)
    assert channel is not None
    assert channel.has_bytes_buffered

    if is_client:
        loopback.client.selector.close_channel("1")
        loopback.poll_until(lambda: server.disconnected)
        assert server.payloads == [b"question 0", b"question 1", b"question 2"]
    else:
        server.selector.close_channel(server_id)
        loopback.poll_until(lambda: loopback.client.disconnected)
        assert server.payloads == [b"question 0"]
    assert list(server.selector.channels) == []


def test_a_client_that_refuses_the_certificate_tells_both_ends(make_loopback: MakeLoopback) -> None:
    """Neither was connected before, and neither will be by trying again."""
    loopback = make_loopback(tls(host="other.example.test"))
    loopback.client.selector.connect("1", loopback.address)

    client_state, client_error = end_of(loopback, loopback.client, AuthenticationError)
    server_state, server_error = end_of(loopback, loopback.server, AuthenticationError)

    assert client_state is server_state is ChannelState.AUTHENTICATION_FAILED
    assert (client_error.layer, server_error.layer) == (Layer.TLS, Layer.TLS)
    assert client_error.why.startswith(
        "the certificate of the broker is not for other.example.test"
    )
    assert server_error.why == "the client refused the TLS handshake (alert bad_certificate)"


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize("client", [TRUSTING, identity(TRUSTING, STRANGER)])
def test_a_client_that_is_refused_learns_why(
    client: TlsSettings, version: str, make_loopback: MakeLoopback
) -> None:
    """In TLS 1.3 that may come when it is ready, or has sent something."""
    loopback = make_loopback(tls(client._replace(enabled_protocols=(version,)), REQUIRED))
    loopback.client.selector.connect("1", loopback.address)

    def is_over() -> bool:
        selector = loopback.client.selector
        if not loopback.client.disconnected and selector.is_channel_ready("1"):
            channel = selector.channel("1")
            if channel is not None and not channel.has_send:
                loopback.client.send("1", b"question")
        return bool(loopback.client.disconnected)

    loopback.poll_until(is_over)

    state, error = end_of(loopback, loopback.client, AuthenticationError)
    assert state is ChannelState.AUTHENTICATION_FAILED
    assert error.why.startswith("the broker refused the TLS handshake: ")


def test_tls_on_a_plaintext_port_is_told_on_both_ends(make_loopback: MakeLoopback) -> None:
    """The server sees a length that no frame may have; the client is not answered."""
    loopback = make_loopback(tls()._replace(server=PLAINTEXT.server))
    loopback.client.selector.connect("1", loopback.address)

    _, refused = end_of(loopback, loopback.server, InvalidReceiveError)
    state, broken = end_of(loopback, loopback.client, HandshakeBrokenError)

    assert refused.why == "the other end began a TLS handshake where plaintext was expected"
    assert state is ChannelState.AUTHENTICATE
    assert broken.connect_error.why.endswith("as a listener without TLS does")


def test_plaintext_on_a_tls_port_is_told_by_the_server(make_loopback: MakeLoopback) -> None:
    """It knows by the first bytes that it is no TLS."""
    loopback = make_loopback(tls()._replace(client=PLAINTEXT.client))
    loopback.client.selector.connect("1", loopback.address)
    loopback.poll_until(lambda: loopback.client.selector.is_channel_ready("1"))
    loopback.client.send("1", b"question")

    state, error = end_of(loopback, loopback.server, AuthenticationError)

    assert state is ChannelState.AUTHENTICATION_FAILED
    assert error.why == "the client does not speak TLS: it sent 00 00 00 08 71 75 65 73 74 69 6f 6e"
