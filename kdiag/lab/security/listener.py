"""Listeners: what they speak, and the channels of the connections that they accept.

    PLAINTEXT         anybody, as it is
    SSL               TLS; whoever has a certificate of the authority, where that is required
    SASL_PLAINTEXT    users, as it is
    SASL_SSL          users, over TLS

Connections between the nodes of a lab come by none of them, and are asked nothing: both ends are in
this process (`kdiag.lab.broker.peer_channels`).

Source: Kafka's `SecurityProtocol`, `ChannelBuilders`, `SaslChannelBuilder`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kdiag.clock import Clock
from kdiag.lab.security.sasl_server import AnswerVersions, SaslServerAuthenticator
from kdiag.lab.security.users import CHECKED_MECHANISMS, UserStore
from kdiag.net.address import host_and_port
from kdiag.net.authenticator import Authenticator, NoAuthenticator
from kdiag.net.channel import Channel
from kdiag.net.server.processor import INTERNAL_PREFIX
from kdiag.net.tls.context import TlsSettings, server_context
from kdiag.net.tls.transport import TlsTransport
from kdiag.net.transport import PlaintextTransport, Transport
from kdiag.wire.schema import Versions

WrapTransport = Callable[[Transport, str, Callable[[], bool]], Transport]
"""Wraps a transport, given this end's `host:port` and whether the client still logs in."""

PLAINTEXT: Final = "PLAINTEXT"
SSL: Final = "SSL"
SASL_PLAINTEXT: Final = "SASL_PLAINTEXT"
SASL_SSL: Final = "SASL_SSL"
INTERNAL: Final = "INTERNAL"
"""The name of what connections between nodes come by."""
PROTOCOLS: Final = (PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL)


class ListenerSettings(NamedTuple):
    """What a listener is started with.

    Attributes:
        protocol: one of PROTOCOLS; it is the listener's name, too.
        port: where it listens; 0 for any that is free.
        tls: what the two ends must prove, and how; for SSL and SASL_SSL.
        mechanisms: of SASL that are enabled; for SASL_PLAINTEXT and SASL_SSL.
    """

    protocol: str = PLAINTEXT
    port: int = 0
    tls: TlsSettings | None = None
    mechanisms: tuple[str, ...] = CHECKED_MECHANISMS

    @property
    def unchecked_mechanisms(self) -> tuple[str, ...]:
        """Return the mechanisms by which a client can log in as any user."""
        enabled = self.mechanisms if self.has_sasl else ()
        return tuple(each for each in enabled if each not in CHECKED_MECHANISMS)

    @property
    def has_tls(self) -> bool:
        """Return whether it speaks TLS."""
        return self.protocol in {SSL, SASL_SSL}

    @property
    def has_sasl(self) -> bool:
        """Return whether it asks who a client is by SASL."""
        return self.protocol in {SASL_PLAINTEXT, SASL_SSL}


class ListenerChannels:
    """Makes the channels of a node: which listener accepted a connection, its own port tells.

    Attributes:
        answer_versions: answers ApiVersions before the end of SASL; it has to be set before the
            first connection.
    """

    def __init__(
        self,
        listeners: Sequence[ListenerSettings],
        users: UserStore,
        versions: Mapping[int, Versions],
        clock: Clock,
        wrap: WrapTransport | None = None,
    ) -> None:
        """Begin without ports.

        Args:
            listeners: whose channels are made.
            users: who may log in.
            versions: what the node speaks, by API key.
            clock: of channels.
            wrap: wraps each transport.

        Raises:
            ConfigError: if a certificate or a key cannot be used.
        """
        self.answer_versions: AnswerVersions | None = None
        self._clock = clock
        self._users = users
        self._versions = versions
        self._wrap = wrap
        self._listeners: dict[int, ListenerSettings] = {}
        self._contexts = {
            each.protocol: each.tls and server_context(each.tls) for each in listeners
        }

    def __repr__(self) -> str:
        names: Sequence[str] = [each.protocol for each in self._listeners.values()]
        return f"<ListenerChannels of {', '.join(names)}>"

    def add(self, port: int, listener: ListenerSettings) -> None:
        """Add a listener that has this port."""
        self._listeners[port] = listener

    def make_channel(self, channel_id: str, sock: Any, peer: str, _host: str) -> Channel:
        """Return the channel of an accepted socket.

        Raises:
            OSError: if it is no longer connected.
        """
        if channel_id.startswith(INTERNAL_PREFIX):
            channel = Channel(
                channel_id, PlaintextTransport(sock, peer), NoAuthenticator(), self._clock
            )
            channel.listener = INTERNAL
            return channel
        listener = self._listeners[sock.getsockname()[1]]
        transport: Transport = PlaintextTransport(sock, peer)
        context = self._contexts[listener.protocol]
        if context is not None:
            transport = TlsTransport(sock, peer, context, None, is_server=True)
        authenticator = self._authenticator(channel_id, listener)
        if self._wrap is not None:
            broker = host_and_port(*sock.getsockname()[:2])
            transport = self._wrap(transport, broker, lambda: not authenticator.is_complete)
        channel = Channel(channel_id, transport, authenticator, self._clock)
        channel.listener = listener.protocol
        return channel

    def _authenticator(self, channel_id: str, listener: ListenerSettings) -> Authenticator:
        if not listener.has_sasl:
            return NoAuthenticator()
        assert self.answer_versions is not None
        return SaslServerAuthenticator(
            channel_id,
            listener.mechanisms,
            self._users,
            self._clock,
            versions=self._versions,
            answer_versions=self.answer_versions,
        )
