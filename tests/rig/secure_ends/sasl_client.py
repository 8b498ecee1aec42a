"""One connection to a broker that authenticates with kdiag's own selector, and asks.

with SaslClient(address, Plain("alice", password)) as client:
    client.ask(MetadataRequest(), 12, MetadataResponse)
"""

import socket
import ssl
from typing import Final, Self, TypeVar

from kdiag.clock import SystemClock
from kdiag.net.address import Address
from kdiag.net.channel import Channel
from kdiag.net.sasl.authenticator import SaslAuthenticator, SaslExchange
from kdiag.net.sasl.mechanism import SaslMechanism
from kdiag.net.selector.selector import Selector
from kdiag.net.send import NetworkSend
from kdiag.net.tls.transport import TlsTransport
from kdiag.net.transport import PlaintextTransport
from kdiag.wire.codec.messages import decode
from kdiag.wire.header import read_response_header
from kdiag.wire.schema import Struct, info_of
from recordings.exchange_maker import request_bytes

CHANNEL: Final = "broker"
_TIMEOUT_NS: Final = 30_000_000_000

R = TypeVar("R", bound=Struct)


class SaslClient:
    """A channel that is ready.

    Attributes:
        exchanges: what was said to authenticate.
        selector: drives the channel; its id is `CHANNEL`.
    """

    def __init__(
        self, address: str, mechanism: SaslMechanism, tls: ssl.SSLContext | None = None
    ) -> None:
        """Connect and authenticate.

        Raises:
            KdiagError: if that fails, as the channel tells.
        """
        self.exchanges: list[SaslExchange] = []
        self._clock = SystemClock()
        self._mechanism = mechanism
        self._tls = tls
        self._correlation_id = 0
        self.selector = Selector(self._clock, make_channel=self._make_channel)
        host, port = address.split(":")
        self.selector.connect(CHANNEL, Address(host, int(port), host, socket.AF_INET))
        try:
            while not self.selector.is_channel_ready(CHANNEL):
                self.poll()
        except BaseException:
            self.selector.close()
            raise

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self.selector.close()

    @property
    def authentications(self) -> int:
        """Return how often it has authenticated."""
        channel = self.selector.channel(CHANNEL)
        return 0 if channel is None else channel.successful_authentications

    def ask(self, request: Struct, version: int, answer: type[R]) -> R:
        """Send a request and return its response."""
        self.send(request, version)
        while not self.selector.completed_receives:
            self.poll()
        return self.take(version, answer)

    def send(self, request: Struct, version: int) -> int:
        """Begin to send a request, once the one before has left; return its correlation id."""
        self._correlation_id += 1
        data = request_bytes(request, version, correlation_id=self._correlation_id)
        self.selector.send(NetworkSend(CHANNEL, [data]))
        return self._correlation_id

    def take(self, version: int, answer: type[R]) -> R:
        """Return the response that the last `poll` received."""
        (receive,) = self.selector.completed_receives
        api_key = info_of(answer).api_key
        assert api_key is not None
        start = read_response_header(receive.payload, api_key, version).body_offset
        return decode(answer, version, receive.payload, start)

    def poll(self) -> None:
        """Wait until something happens.

        Raises:
            Exception: what ended the channel.
        """
        began_ns = self._clock.monotonic_ns()
        self.selector.poll(_TIMEOUT_NS)
        ended = self.selector.disconnected.get(CHANNEL)
        if ended is not None:
            raise ended.error or EOFError(f"the channel has ended: {ended.state}")
        assert self._clock.monotonic_ns() - began_ns < _TIMEOUT_NS, "nothing happens"

    def _make_channel(self, channel_id: str, sock: socket.socket, peer: str, host: str) -> Channel:
        transport = (
            PlaintextTransport(sock, peer)
            if self._tls is None
            else TlsTransport(sock, peer, self._tls, host)
        )
        authenticator = SaslAuthenticator(
            self._mechanism, self._clock, channel_id, "kdiag-test", self.exchanges.append
        )
        # As early as a client may: a broker ends a session that is renewed too late.
        authenticator.draw = lambda: 0.0
        return Channel(channel_id, transport, authenticator, self._clock)
