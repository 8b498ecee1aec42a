"""Timed channels: how far each came, when, and what its TLS showed, for those who diagnose.

timed = TimedChannels(make_channel, clock)
selector = Selector(clock, make_channel=timed)
...
timed.progress["1"].connected_ns
"""

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from kdiag.clock import Clock
from kdiag.errors import DecodeError, KdiagError
from kdiag.net.channel import Channel
from kdiag.net.transport import Transport

if TYPE_CHECKING:  # plaintext does without
    from kdiag.net.tls.certificate import Certificate

_FAILURES: Final = (OSError, KdiagError)


class TlsFacts(NamedTuple):
    """What a TLS handshake showed, whether it succeeded or not.

    Attributes:
        version: what is spoken: `TLSv1.3`; None before the end of the handshake.
        cipher: the cipher suite, as OpenSSL names it; None before it is agreed on.
        certificates: those of the other end, its own first, accepted or not.
    """

    version: str | None
    cipher: str | None
    certificates: "tuple[Certificate, ...]"


class Progress:
    """When each step of one connection was done, on the monotonic clock; None for not yet.

    Attributes:
        began_ns: when TCP began to connect.
        connected_ns: when TCP had connected.
        secured_ns: when the TLS handshake had ended well; without TLS as `connected_ns`.
        authenticated_ns: when SASL had ended well; without SASL as `secured_ns`.
        tls: what the handshake showed; None without TLS.
    """

    def __init__(self, began_ns: int) -> None:
        self.began_ns = began_ns
        self.connected_ns: int | None = None
        self.secured_ns: int | None = None
        self.authenticated_ns: int | None = None
        self.tls: TlsFacts | None = None

    def __repr__(self) -> str:
        steps = (self.connected_ns, self.secured_ns, self.authenticated_ns)
        return f"<Progress: {sum(each is not None for each in steps)} of 3 steps>"


class TimedChannel(Channel):
    """A channel that notes its progress."""

    def __init__(self, channel: Channel, clock: Clock) -> None:
        """Take the place of a channel that nobody uses yet."""
        super().__init__(channel.id, channel.transport, channel.authenticator, clock)
        self.progress = Progress(clock.monotonic_ns())
        self._has_tls = not channel.transport.is_ready  # plaintext is ready from the start

    def finish_connect(self) -> None:
        """Take the outcome of the connect, and note when.

        Raises:
            OSError: if it failed.
        """
        super().finish_connect()
        self._note()

    def prepare(self) -> bool:
        """Go on with handshake and authenticator, and note how far they came.

        Raises:
            AuthenticationError: if either end refuses the other.
            OSError: if the connection broke.
        """
        try:
            if not self.transport.is_ready:
                # First by itself: the authenticator may come to its end in the same call.
                with self._noting_refusal():
                    self.transport.handshake()
                self._note()
            is_done = self.transport.is_ready and super().prepare()
        except _FAILURES:
            self._note()
            self._note_tls()
            raise
        self._note()
        return is_done

    def _note(self) -> None:
        now_ns, progress = self._clock.monotonic_ns(), self.progress
        if progress.connected_ns is None:
            progress.connected_ns = now_ns
        if progress.secured_ns is None and self.transport.is_ready:
            progress.secured_ns = now_ns
            self._note_tls()
        if progress.authenticated_ns is None and self.is_ready:
            progress.authenticated_ns = now_ns

    def _note_tls(self) -> None:
        if self._has_tls:
            self.progress.tls = _tls_facts(self.transport)


class TimedChannels:
    """Makes channels as another maker does, and keeps the progress of each.

    Attributes:
        progress: that of the newest channel of each id.
    """

    def __init__(
        self, make_channel: Callable[[str, socket.socket, str, str], Channel], clock: Clock
    ) -> None:
        self.progress: dict[str, Progress] = {}
        self._make_channel = make_channel
        self._clock = clock

    def __call__(self, channel_id: str, sock: socket.socket, peer: str, host: str) -> Channel:
        """Return a new channel."""
        made = self._make_channel(channel_id, sock, peer, host)
        channel = TimedChannel(made, self._clock)
        self.progress[channel_id] = channel.progress
        return channel


def _tls_facts(transport: Transport) -> TlsFacts | None:
    from kdiag.net.tls.certificate import read_certificate  # noqa: PLC0415 - as above
    from kdiag.net.tls.transport import TlsTransport  # noqa: PLC0415 - plaintext does without

    if not isinstance(transport, TlsTransport):
        return None
    try:
        chain = tuple(map(read_certificate, transport.certificates()))
    except DecodeError:
        chain = ()  # OpenSSL has its own words for what is wrong with it
    return TlsFacts(transport.version, transport.cipher, chain)
