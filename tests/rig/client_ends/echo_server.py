"""A server and a client on selectors of kdiag, over loopback, driven by turns in one thread.

with Loopback(PLAINTEXT) as loopback:
    loopback.connect("1")
    loopback.client.send("1", b"question")
    loopback.poll_until(lambda: loopback.client.payloads == [b"question"])
"""

import socket
import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Self

from kdiag.clock import Clock, ManualClock
from kdiag.net.address import Address
from kdiag.net.authenticator import Authenticator, NoAuthenticator
from kdiag.net.channel import Channel, Disconnection
from kdiag.net.receive import NetworkReceive
from kdiag.net.selector.selector import NEVER, Selector, SelectorSettings
from kdiag.net.send import NetworkSend
from kdiag.net.transport import PlaintextTransport, Transport

SETTINGS: Final = SelectorSettings(max_idle_ns=NEVER)
_TURN_NS: Final = 1_000_000
_DEADLINE_S: Final = 60

MakeTransport = Callable[[socket.socket, str, str], Transport]


class Security(NamedTuple):
    """How both ends make transports, from the socket, its peer and its host, and authenticators."""

    name: str
    client: MakeTransport
    server: MakeTransport
    host: str = "localhost"
    client_authenticator: Callable[[], Authenticator] = NoAuthenticator
    server_authenticator: Callable[[], Authenticator] = NoAuthenticator


def _plaintext(sock: socket.socket, peer: str, _host: str) -> Transport:
    return PlaintextTransport(sock, peer)


PLAINTEXT: Final = Security("plaintext", _plaintext, _plaintext)


class Recorder:
    """A selector, and what all its polls told.

    Attributes:
        closes_receives: whether the memory of what is received is given back at once.
    """

    closes_receives = True

    connected: list[str]
    sends: list[NetworkSend]
    receives: list[NetworkReceive]
    disconnected: dict[str, Disconnection]

    def __init__(
        self,
        clock: Clock,
        make_transport: MakeTransport,
        settings: SelectorSettings = SETTINGS,
        make_authenticator: Callable[[], Authenticator] = NoAuthenticator,
    ) -> None:
        def make_channel(channel_id: str, sock: socket.socket, peer: str, host: str) -> Channel:
            transport = make_transport(sock, peer, host)
            return Channel(channel_id, transport, make_authenticator(), clock)

        self.selector = Selector(clock, make_channel=make_channel, settings=settings)
        self.connected, self.sends, self.receives, self.disconnected = [], [], [], {}

    @property
    def payloads(self) -> list[bytes]:
        """Return what was received."""
        return [receive.payload for receive in self.receives]

    def send(self, channel_id: str, *parts: bytes) -> None:
        """Begin to send a frame."""
        self.selector.send(NetworkSend(channel_id, parts))

    def poll(self, timeout_ns: int = 0) -> None:
        """Poll once, and note what happened."""
        self.selector.poll(timeout_ns)
        self.connected += self.selector.connected
        self.sends += self.selector.completed_sends
        self.receives += self.selector.completed_receives
        self.disconnected |= self.selector.disconnected
        if self.closes_receives:
            for receive in self.selector.completed_receives:
                receive.close()


class EchoServer(Recorder):
    """A server that sends back what it gets, frame by frame, as a broker answers requests.

    Attributes:
        is_echoing: whether it does; it only listens otherwise.
        accepted: ids of its channels: 1, 2, 3 and so on.
    """

    def __init__(
        self,
        clock: Clock,
        make_transport: MakeTransport,
        settings: SelectorSettings = SETTINGS,
        make_authenticator: Callable[[], Authenticator] = NoAuthenticator,
    ) -> None:
        super().__init__(clock, make_transport, settings, make_authenticator)
        self.is_echoing = True
        self.accepted: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0)
        self._answers: dict[str, deque[bytes]] = {}

    def address(self, host: str = "localhost") -> Address:
        """Return where it listens, under a name."""
        return Address(host, self._listener.getsockname()[1], "127.0.0.1", socket.AF_INET)

    def poll(self, timeout_ns: int = 0) -> None:
        """Accept who knocks, poll once, and answer."""
        self._accept()
        super().poll(timeout_ns)
        if self.is_echoing:
            for receive in self.selector.completed_receives:
                self._answers[receive.channel_id].append(receive.payload)
            for channel in self.selector.channels:
                if self._answers[channel.id] and not channel.has_send:
                    self.send(channel.id, self._answers[channel.id].popleft())

    def close(self) -> None:
        """Close every connection, and listen no more."""
        self._listener.close()
        self.selector.close()

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except BlockingIOError:
            return
        channel_id = str(len(self.accepted) + 1)
        self._answers[channel_id] = deque()
        self.accepted.append(channel_id)
        self.selector.register(channel_id, sock)


class Loopback:
    """A client, a server that echoes, and a clock that stands still, for both."""

    def __init__(
        self,
        security: Security,
        client: SelectorSettings = SETTINGS,
        server: SelectorSettings = SETTINGS,
    ) -> None:
        self.clock = ManualClock(epoch_ns=1_000)
        ours, theirs = security.client_authenticator, security.server_authenticator
        self.client = Recorder(self.clock, security.client, client, ours)
        self.server = EchoServer(self.clock, security.server, server, theirs)
        self.address = self.server.address(security.host)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close both."""
        self.client.selector.close()
        self.server.close()

    def poll_until(self, is_true: Callable[[], object]) -> None:
        """Poll both ends by turns until something is true."""
        poll_until(is_true, self.client, self.server)

    def connect(self, channel_id: str) -> str:
        """Connect until both ends are ready, and return the id on the server."""
        count = len(self.server.accepted)
        self.client.selector.connect(channel_id, self.address)
        self.poll_until(
            lambda: (
                self.client.selector.is_channel_ready(channel_id)
                and len(self.server.accepted) > count
                and self.server.selector.is_channel_ready(self.server.accepted[-1])
            )
        )
        return self.server.accepted[-1]

    def send(self, channel_id: str, *frames: bytes) -> None:
        """Send frames from the client until the system has the last byte of each."""
        for frame in frames:
            self.client.sends.clear()
            self.client.send(channel_id, frame)
            self.poll_until(lambda: self.client.sends)


def poll_until(is_true: Callable[[], object], *ends: Recorder) -> None:
    """Poll some ends by turns until something is true."""
    deadline_s = time.monotonic() + _DEADLINE_S
    while not is_true():
        assert time.monotonic() < deadline_s, "it does not become true"
        for end in ends:
            end.poll(_TURN_NS)
