"""Timed channels: when each step of a connection was done, and what its TLS handshake showed.

timed = TimedChannels(make_channel, clock)
selector = Selector(clock, make_channel=timed)
...
timed.progress["1"].connected_ns
"""

import socket
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from kdiag.clock import Clock
from kdiag.errors import DecodeError, KdiagError
from kdiag.net.channel import Channel
from kdiag.net.selector.selector import MakeChannel

if TYPE_CHECKING:  # plaintext does without them
    from collections.abc import Sequence

    from kdiag.net.tls.certificate import Certificate
    from kdiag.net.tls.transport import TlsTransport

_FAILURES: Final = (OSError, KdiagError)


class HandshakeFacts(NamedTuple):
    """The facts of a TLS handshake, whether it succeeded or not.

    Attributes:
        version: the version spoken: `TLSv1.3`; None before the end of the handshake.
        cipher: the cipher suite, as OpenSSL names it; None before it is agreed on.
        certificates: those of the other end, its own first, accepted or not.
    """

    version: str | None
    cipher: str | None
    certificates: "tuple[Certificate, ...]"


class ChannelProgress:
    """When each step of one connection was done, on the monotonic clock; None for not yet.

    Attributes:
        began_ns: when TCP began to connect.
        connected_ns: when TCP had connected.
        secured_ns: when the TLS handshake had succeeded; without TLS as `connected_ns`.
        authenticated_ns: when SASL had succeeded; without SASL as `secured_ns`.
    """

    def __init__(self, began_ns: int) -> None:
        self.began_ns = began_ns
        self.connected_ns: int | None = None
        self.secured_ns: int | None = None
        self.authenticated_ns: int | None = None
        self._handshake: tuple[str | None, str | None, Sequence[bytes]] | None = None

    @property
    def tls(self) -> HandshakeFacts | None:
        """Return the facts of the handshake; None without TLS, and before its end."""
        if self._handshake is None:
            return None
        version, cipher, chain = self._handshake
        return HandshakeFacts(version, cipher, _read_chain(chain))

    def record_handshake(self, tls: "TlsTransport") -> None:
        """Keep what a handshake has shown; certificates are read when somebody asks for them."""
        self._handshake = tls.version, tls.cipher, tls.certificates()

    def __repr__(self) -> str:
        steps = (self.connected_ns, self.secured_ns, self.authenticated_ns)
        return f"<ChannelProgress: {sum(each is not None for each in steps)} of 3 steps>"


class TimedChannel(Channel):
    """A channel that records its progress."""

    def __init__(self, channel: Channel, clock: Clock) -> None:
        """Take the place of a channel that nobody uses yet."""
        super().__init__(channel.id, channel.transport, channel.authenticator, clock)
        self.progress = ChannelProgress(clock.monotonic_ns())
        self._has_tls = not channel.transport.is_ready  # plaintext is ready from the start

    def finish_connect(self) -> None:
        """Finish the connect, and record when.

        Raises:
            OSError: if it failed.
        """
        super().finish_connect()
        self._record()

    def prepare(self) -> bool:
        """Continue the handshake and the authentication, and record how far they came.

        Raises:
            AuthenticationError: if either end refuses the other.
            OSError: if the connection broke.
        """
        try:
            if not self.transport.is_ready:
                # First by itself: the authenticator may come to its end in the same call.
                with self._recording_refusal():
                    self.transport.handshake()
                self._record()
            is_done = self.transport.is_ready and super().prepare()
        except _FAILURES:
            self._record()
            self._record_handshake()
            raise
        self._record()
        return is_done

    def _record(self) -> None:
        now_ns, progress = self._clock.monotonic_ns(), self.progress
        if progress.connected_ns is None:
            progress.connected_ns = now_ns
        if progress.secured_ns is None and self.transport.is_ready:
            progress.secured_ns = now_ns
            self._record_handshake()
        if progress.authenticated_ns is None and self.is_ready:
            progress.authenticated_ns = now_ns

    def _record_handshake(self) -> None:
        if self._has_tls:
            self.progress.record_handshake(cast("TlsTransport", self.transport))


class TimedChannels:
    """Makes channels as another maker does, and keeps the progress of each.

    Attributes:
        progress: that of the newest channel of each id.
    """

    def __init__(self, make_channel: MakeChannel, clock: Clock) -> None:
        self.progress: dict[str, ChannelProgress] = {}
        self._make_channel = make_channel
        self._clock = clock

    def __call__(self, channel_id: str, sock: socket.socket, peer: str, host: str) -> Channel:
        """Return a new channel."""
        made = self._make_channel(channel_id, sock, peer, host)
        channel = TimedChannel(made, self._clock)
        self.progress[channel_id] = channel.progress
        return channel


def _read_chain(chain: "Sequence[bytes]") -> "tuple[Certificate, ...]":
    from kdiag.net.tls.certificate import read_certificate  # noqa: PLC0415 - 40 ms, to show them

    try:
        return tuple(map(read_certificate, chain))
    except DecodeError:
        return ()  # OpenSSL has its own words for what is wrong with it
