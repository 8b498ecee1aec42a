"""Network clients under test: on real sockets, with a clock that stands still."""

import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from kdiag.client.network.metadata import Node
from kdiag.client.network.metadata_updater import ManualMetadataUpdater, MetadataUpdater
from kdiag.client.network.network_client import NetworkClient
from kdiag.client.network.observer import ExchangeObserver
from kdiag.client.network.request import ClientResponse
from kdiag.client.network.settings import ConnectionTimes, NetworkSettings
from kdiag.clock import Clock, ManualClock
from kdiag.errors import AuthenticationError, Layer
from kdiag.net.authenticator import Authenticator, NoAuthenticator
from kdiag.net.channel import Channel
from kdiag.net.selector.selector import MakeChannel, Selector
from kdiag.net.transport import PlaintextTransport, Transport

MS: Final = 1_000_000
S: Final = 1_000 * MS
STEADY: Final = NetworkSettings(
    client_id="kdiag-test",
    times=ConnectionTimes(
        reconnect_backoff_ns=50 * MS,
        reconnect_backoff_max_ns=1_000 * MS,
        setup_timeout_ns=2 * S,
        setup_timeout_max_ns=8 * S,
        jitter=0.0,
    ),
    request_timeout_ns=10 * S,
)
"""Settings without chance."""
_STEPS: Final = 2_000
_STEP_NS: Final = 10 * MS


class Unfinished(NoAuthenticator):
    """An authenticator whose peer never answers."""

    is_complete = False


class Refused(NoAuthenticator):
    """An authenticator whose peer refuses the password."""

    is_complete = False

    def authenticate(self, transport: Transport) -> None:
        """Raise an AuthenticationError."""
        raise AuthenticationError(transport.peer, Layer.SASL, "wrong password", "Correct it")


MakeTransport = Callable[[socket.socket, str, str], Transport]
"""Makes a transport from a socket, its peer (`host:port`) and its host."""


class Security(NamedTuple):
    """How both ends carry bytes.

    Attributes:
        server: the context of a broker with TLS.
        transport: makes the client's end.
    """

    server: ssl.SSLContext | None
    transport: MakeTransport


def in_the_clear(sock: socket.socket, peer: str, _host: str) -> Transport:
    """Return a transport without TLS."""
    return PlaintextTransport(sock, peer)


def plaintext(
    clock: Clock,
    authenticator: Callable[[], Authenticator] = NoAuthenticator,
    transport: MakeTransport = in_the_clear,
) -> MakeChannel:
    """Return what makes channels, without TLS and SASL unless told."""

    def make(channel_id: str, sock: socket.socket, peer: str, host: str) -> Channel:
        return Channel(channel_id, transport(sock, peer, host), authenticator(), clock)

    return make


class RecordingClient(NetworkClient):
    """A network client that keeps the responses which its polls return.

    Attributes:
        ended: the responses that no test has taken.
        waits_ns: how long each poll was allowed to wait.
    """

    ended: list[ClientResponse]
    waits_ns: list[int]

    def poll(self, timeout_ns: int) -> list[ClientResponse]:
        """Poll and keep what it returns."""
        self.waits_ns.append(timeout_ns)
        responses = super().poll(timeout_ns)
        self.ended += responses
        return responses

    def take(self, count: int = 1) -> list[ClientResponse]:
        """Return how the next requests ended, as soon as so many have."""
        poll_until(self, lambda: len(self.ended) >= count)
        taken, self.ended = self.ended, []
        return taken

    @property
    def time(self) -> ManualClock:
        """Return the clock, to be advanced."""
        assert isinstance(self.clock, ManualClock)
        return self.clock


@contextmanager
def network_client(
    nodes: Sequence[Node] | MetadataUpdater = (),
    settings: NetworkSettings = STEADY,
    *,
    authenticator: Callable[[], Authenticator] = NoAuthenticator,
    transport: MakeTransport = in_the_clear,
    observer: ExchangeObserver | None = None,
) -> Iterator[RecordingClient]:
    """Yield a client that knows some nodes; its clock stands still."""
    clock = ManualClock()
    updater = ManualMetadataUpdater(nodes) if isinstance(nodes, Sequence) else nodes
    selector = Selector(clock, make_channel=plaintext(clock, authenticator, transport))
    client = RecordingClient(selector, updater, clock, settings, observer)
    client.ended = []
    client.waits_ns = []
    try:
        yield client
    finally:
        client.close()


def poll_until(client: NetworkClient, condition: Callable[[], object]) -> None:
    """Poll until a condition holds, which another end is about to bring about."""
    for _ in range(_STEPS):
        if condition():
            return
        client.poll(_STEP_NS)
    raise AssertionError("it does not happen")


def connect(client: NetworkClient, node: Node) -> None:
    """Connect to a node."""
    poll_until(client, lambda: client.ready(node))


@contextmanager
def silent_server() -> Iterator[int]:
    """Yield the port of a server that connects and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@contextmanager
def full_server() -> Iterator[int]:
    """Yield a port whose queue of connections is full, so that packets to it are dropped."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        port = server.getsockname()[1]
        waiting = [socket.socket() for _ in range(3)]
        for each in waiting:
            each.settimeout(0)
            each.connect_ex(("127.0.0.1", port))
        try:
            yield port
        finally:
            for each in waiting:
                each.close()


def closed_port() -> int:
    """Return a port on loopback where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port
