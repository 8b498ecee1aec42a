import socket

import pytest

from kdiag.clock import ManualClock
from kdiag.errors import AuthenticationError, Layer
from kdiag.net.authenticator import NoAuthenticator
from kdiag.net.channel import Channel
from kdiag.net.timed_channel import TimedChannel, TimedChannels
from kdiag.net.tls.context import TlsSettings, client_context, server_context
from kdiag.net.tls.transport import TlsTransport
from kdiag.net.transport import Transport
from secure_ends.memory_transport import MemoryTransport
from secure_ends.tls_sockets import HOST, SERVING, STRANGER, TRUSTING

OTHERS = TlsSettings(truststore_certificates=STRANGER.pem)


class SlowAuthenticator(NoAuthenticator):
    """An authenticator that is satisfied at the second look."""

    def __init__(self) -> None:
        self.is_complete = False
        self._looks = 0

    def authenticate(self, transport: Transport) -> None:
        """Look."""
        assert transport.is_ready
        self._looks += 1
        self.is_complete = self._looks > 1


class Pair:
    """A timed channel with TLS and the server that it talks to."""

    def __init__(self, settings: TlsSettings) -> None:
        ours, theirs = socket.socketpair()
        for sock in (ours, theirs):
            sock.settimeout(0)
        self.clock = ManualClock()
        transport = TlsTransport(ours, f"{HOST}:9093", client_context(settings), HOST)
        channel = Channel("1", transport, NoAuthenticator(), self.clock)
        self.channel = TimedChannel(channel, self.clock)
        self.server = TlsTransport(
            theirs, "client:1", server_context(SERVING), None, is_server=True
        )

    def shake_hands(self) -> None:
        """Go on by turns until the channel is ready."""
        while not self.channel.prepare():
            self.clock.advance(10)
            self.server.handshake()

    def close(self) -> None:
        """Close both ends."""
        self.channel.close()
        self.server.close()


def test_plaintext_without_sasl_is_done_when_it_has_connected() -> None:
    """There is nothing else to wait for, and no TLS to tell of."""
    clock = ManualClock()
    timed = TimedChannels(
        lambda channel_id, *_: Channel(channel_id, MemoryTransport(), NoAuthenticator(), clock),
        clock,
    )
    with socket.socket() as sock:
        channel = timed("7", sock, "a:1", "a")
    progress = timed.progress["7"]
    assert (progress.began_ns, progress.connected_ns) == (0, None)
    assert repr(progress) == "<ChannelProgress: 0 of 3 steps>"

    clock.advance(5)
    channel.finish_connect()

    assert (progress.connected_ns, progress.secured_ns, progress.authenticated_ns) == (5, 5, 5)
    assert progress.tls is None


def test_an_authenticator_takes_its_own_time() -> None:
    """From the end of the handshake on."""
    clock = ManualClock()
    made = Channel("1", MemoryTransport(), SlowAuthenticator(), clock)
    channel = TimedChannel(made, clock)
    channel.finish_connect()
    for _ in range(2):
        clock.advance(5)
        channel.prepare()

    assert (channel.progress.secured_ns, channel.progress.authenticated_ns) == (0, 10)


def test_a_handshake_shows_version_cipher_and_certificates() -> None:
    """And when it was over."""
    pair = Pair(TRUSTING)
    pair.channel.finish_connect()
    pair.shake_hands()

    progress = pair.channel.progress
    pair.close()
    assert (progress.connected_ns, progress.secured_ns) == (0, 10)
    assert progress.authenticated_ns == 10
    assert progress.tls is not None
    assert progress.tls.version == "TLSv1.3"
    assert progress.tls.cipher is not None
    assert [each.dns_names for each in progress.tls.certificates] == [(HOST,)]


def test_certificates_are_shown_though_they_are_refused() -> None:
    """They tell what is wrong with them."""
    pair = Pair(OTHERS)
    pair.channel.finish_connect()
    with pytest.raises(AuthenticationError) as refused:
        pair.shake_hands()

    progress = pair.channel.progress
    pair.close()
    assert refused.value.layer is Layer.TLS
    assert progress.secured_ns is None
    assert progress.tls is not None
    assert [each.issuer for each in progress.tls.certificates] == ["CN=Test Root"]
