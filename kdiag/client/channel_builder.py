"""From a client's configuration to the channels of its connections.

One TLS context and one SASL mechanism serve all channels; what a configuration does not ask for is
not imported.

Source: Kafka's `ChannelBuilders`, `SaslChannelBuilder`, `SslChannelBuilder`.
"""

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kdiag.client.config.load import ClientConfig
from kdiag.client.config.sasl import SaslConfig
from kdiag.clock import NS_PER_MS, Clock
from kdiag.net.authenticator import Authenticator, NoAuthenticator
from kdiag.net.channel import Channel
from kdiag.net.selector.selector import MakeChannel
from kdiag.net.transport import PlaintextTransport, Transport

if TYPE_CHECKING:  # each is needed by some configurations only
    from kdiag.net.sasl.authenticator import SaslExchange
    from kdiag.net.sasl.mechanism import SaslMechanism
    from kdiag.net.sasl.tokens import TokenSource


def channel_maker(
    config: ClientConfig,
    clock: Clock,
    on_sasl_exchange: "Callable[[SaslExchange], None] | None" = None,
) -> MakeChannel:
    """Return what makes a client's channels, for a Selector.

    Args:
        config: says which transport, and how to log in.
        clock: of the channels.
        on_sasl_exchange: is told of every exchange by which a channel logs in.

    Raises:
        ConfigError: if a truststore, a keystore or a setting cannot be used.
    """
    make_transport = _transports(config)
    make_authenticator = _authenticators(config, clock, on_sasl_exchange)
    return lambda channel_id, sock, peer, host: Channel(
        channel_id, make_transport(sock, peer, host), make_authenticator(channel_id), clock
    )


def _transports(config: ClientConfig) -> Callable[[Any, str, str], Transport]:
    """Return what makes a transport from a socket, its peer and its host."""
    if not config.has_tls:
        return lambda sock, peer, _: PlaintextTransport(sock, peer)
    from kdiag.net.tls.context import TlsSettings, client_context  # noqa: PLC0415 - as above
    from kdiag.net.tls.transport import TlsTransport  # noqa: PLC0415 - plaintext does without

    origins = {each.key: each.origin for each in config.values.in_force(with_defaults=True)}
    context = client_context(TlsSettings(**config.tls._asdict(), origins=origins))
    return lambda sock, peer, host: TlsTransport(sock, peer, context, host)


def _authenticators(
    config: ClientConfig,
    clock: Clock,
    on_sasl_exchange: "Callable[[SaslExchange], None] | None",
) -> Callable[[str], Authenticator]:
    """Return what makes an authenticator from the id of its channel."""
    if config.sasl is None:
        return lambda _: NoAuthenticator()
    from kdiag.net.sasl.authenticator import SaslAuthenticator  # noqa: PLC0415 - only where one logs in

    mechanism = sasl_mechanism(config, config.sasl, clock)
    return lambda channel_id: SaslAuthenticator(
        mechanism, clock, channel_id, config.client_id, on_sasl_exchange
    )


def sasl_mechanism(config: ClientConfig, sasl: SaslConfig, clock: Clock) -> "SaslMechanism":
    """Return the mechanism of a configuration, with its credentials.

    Raises:
        ConfigError: if a token cannot be made as the settings want it.
    """
    if sasl.mechanism == "PLAIN":
        from kdiag.net.sasl.mechanism import Plain  # noqa: PLC0415 - one of three is needed

        return Plain(sasl.username, sasl.password)
    if sasl.mechanism.startswith("SCRAM-"):
        from kdiag.net.sasl.scram import Scram  # noqa: PLC0415 - as above

        return Scram(
            sasl.mechanism,
            sasl.username,
            sasl.password,
            is_delegation_token=sasl.is_delegation_token,
        )
    from kdiag.net.sasl.oauthbearer import OauthBearer  # noqa: PLC0415 - as above

    source = _token_source(config, sasl, clock)
    try:
        return OauthBearer(source, clock, sasl.extensions)
    except ValueError as error:
        raise config.values.wrong("sasl.jaas.config", str(error)) from None


def _token_source(config: ClientConfig, sasl: SaslConfig, clock: Clock) -> "TokenSource":
    from pathlib import Path  # noqa: PLC0415 - as above

    from kdiag.net.sasl import tokens as sasl_token  # noqa: PLC0415 - as above

    if sasl.token is not None:
        return sasl_token.LiteralToken(sasl.token)
    if sasl.token_file is not None:
        return sasl_token.FileToken(Path(sasl.token_file))
    command = sasl.token_command
    try:
        if command is None:
            return sasl_token.UnsecuredToken(sasl.unsecured, clock)
        timeout_ns = config.request_timeout_ms * NS_PER_MS
        return sasl_token.CommandToken(shlex.split(command), timeout_ns, clock)
    except ValueError as error:
        key = "sasl.jaas.config" if command is None else "sasl.oauthbearer.token.command"
        raise config.values.wrong(key, str(error)) from None
