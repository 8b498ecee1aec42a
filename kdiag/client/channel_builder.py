"""The channel builder: makes the channels that a client's configuration asks for.

One TLS context and one SASL mechanism serve all channels; TLS and SASL are imported only by
configurations that use them.

Source: Kafka's `ChannelBuilders`, `SaslChannelBuilder`, `SslChannelBuilder`.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kdiag.client.config.load import ClientConfig
from kdiag.clock import NS_PER_MS, Clock
from kdiag.net.authenticator import Authenticator, NoAuthenticator
from kdiag.net.channel import Channel
from kdiag.net.selector.selector import MakeChannel
from kdiag.net.transport import PlaintextTransport, Transport

if TYPE_CHECKING:
    from kdiag.net.sasl.authenticator import SaslExchange


def channel_maker(
    config: ClientConfig,
    clock: Clock,
    on_sasl_exchange: "Callable[[SaslExchange], None] | None" = None,
) -> MakeChannel:
    """Return a function that makes a client's channels, for a Selector.

    Args:
        config: names the transport and the credentials.
        clock: of the channels.
        on_sasl_exchange: is called with every exchange by which a channel authenticates.

    Raises:
        ConfigError: if a truststore, a keystore or a setting cannot be used.
    """
    make_transport = _transports(config)
    make_authenticator = _authenticators(config, clock, on_sasl_exchange)
    return lambda channel_id, sock, peer, host: Channel(
        channel_id, make_transport(sock, peer, host), make_authenticator(channel_id, host), clock
    )


def _transports(config: ClientConfig) -> Callable[[Any, str, str], Transport]:
    """Return a function from a socket, its peer and its host to a transport."""
    if not config.has_tls:
        return lambda sock, peer, _: PlaintextTransport(sock, peer)
    from kdiag.net.tls.context import TlsSettings, client_context  # noqa: PLC0415 - 10 ms, TLS only
    from kdiag.net.tls.transport import TlsTransport  # noqa: PLC0415 - as above

    context = client_context(TlsSettings(**config.tls._asdict(), origins=_origins(config)))
    return lambda sock, peer, host: TlsTransport(sock, peer, context, host)


def _authenticators(
    config: ClientConfig,
    clock: Clock,
    on_sasl_exchange: "Callable[[SaslExchange], None] | None",
) -> Callable[[str, str], Authenticator]:
    """Return a function from the id of a channel and its host to its authenticator."""
    if config.sasl is None:
        return lambda *_: NoAuthenticator()
    from kdiag.net.sasl.authenticator import SaslAuthenticator  # noqa: PLC0415 - 16 ms, SASL only
    from kdiag.net.sasl.settings import SaslSettings, mechanism_maker  # noqa: PLC0415 - as above

    settings = SaslSettings(
        **config.sasl._asdict(),
        timeout_ns=config.request_timeout_ms * NS_PER_MS,
        origins=_origins(config),
    )
    mechanism_for = mechanism_maker(settings, clock)
    return lambda channel_id, host: SaslAuthenticator(
        mechanism_for(host),
        clock,
        channel_id,
        config.client_id,
        on_sasl_exchange,
        release=config.as_version,
    )


def _origins(config: ClientConfig) -> Mapping[str, str]:
    """Return where each setting was given, for errors."""
    return {each.key: each.origin for each in config.values.in_force(with_defaults=True)}
