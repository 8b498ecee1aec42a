"""SASL settings: Kafka's `sasl.` settings, and the mechanism that they name.

`mechanism_maker` is the one place that knows every mechanism. A new one is a module of this folder
with a class that is a `SaslMechanism`, and a line in `_MAKERS`; AWS's signs the name of the broker,
and so is made for each.

Source: Kafka's `SaslConfigs`; KIP-48 (delegation tokens), KIP-255, KIP-342 (OAUTHBEARER).
"""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S, Clock
from kdiag.errors import ConfigError, install_command
from kdiag.net.sasl.aws_iam import AWS_MSK_IAM, REFUSED_FIX, AwsMskIam, AwsSigner, AwsToken
from kdiag.net.sasl.identity_provider import ClientCredentials, ProviderToken
from kdiag.net.sasl.mechanism import Plain, SaslMechanism
from kdiag.net.sasl.oauthbearer import OauthBearer
from kdiag.net.sasl.scram import Scram
from kdiag.net.sasl.tokens import (
    CommandToken,
    FileToken,
    LiteralToken,
    TokenSource,
    UnsecuredToken,
)

_JAAS: Final = "sasl.jaas.config"
_COMMAND: Final = "sasl.oauthbearer.token.command"
_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"


class SaslSettings(NamedTuple):
    """How a client proves who it is.

    Attributes:
        mechanism: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`, `OAUTHBEARER` or `AWS_MSK_IAM`.
        username: the user's name, or the id of a delegation token.
        password: the password, or the HMAC of a delegation token.
        is_delegation_token: whether these are a delegation token's (SCRAM only).
        token: a bearer token; the next ones are used in this order where it is None.
        token_file: a file that holds one.
        token_command: a command that prints one, as a shell would split it.
        token_endpoint: an identity provider's address for client credentials.
        client_id, client_secret, scope: these.
        https_ca_file: a PEM file of who vouches for the provider; empty for the system's.
        unsecured: the options of Kafka's login module for an unsecured token.
        extensions: SASL extensions of OAUTHBEARER.
        is_aws: whether AWS's credentials are used: by AWS_MSK_IAM, or as OAUTHBEARER's token.
        aws_profile, aws_region: these; empty for AWS's usual ones.
        timeout_ns: how long the command, or the provider, may take.
        origins: setting -> where it came from, for errors.
    """

    mechanism: str
    username: str = ""
    password: str = ""
    is_delegation_token: bool = False
    token: str | None = None
    token_file: str | None = None
    token_command: str | None = None
    token_endpoint: str | None = None
    client_id: str = ""
    client_secret: str = ""
    scope: str = ""
    https_ca_file: str | None = None
    unsecured: Mapping[str, str] = MappingProxyType({})
    extensions: Mapping[str, str] = MappingProxyType({})
    is_aws: bool = False
    aws_profile: str = ""
    aws_region: str = ""
    timeout_ns: int = 30 * NS_PER_S
    origins: Mapping[str, str] = MappingProxyType({})

    def __repr__(self) -> str:
        return f"<SaslSettings: {self.mechanism} as {self.username!r}>"

    def error(self, key: str, why: str) -> ConfigError:
        """Return the error about a setting."""
        return ConfigError(key, self.origins.get(key, "SASL settings"), why)


def mechanism_maker(settings: SaslSettings, clock: Clock) -> Callable[[str], SaslMechanism]:
    """Return a function from the name of a broker to the mechanism for it.

    Raises:
        ConfigError: as `make_mechanism`, or if it needs an extra that is not installed.
    """
    if not settings.is_aws:
        mechanism = make_mechanism(settings, clock)
        return lambda _: mechanism
    try:
        signer = AwsSigner(settings.aws_profile, settings.aws_region)
    except ImportError:
        why = f"credentials of AWS need botocore: {install_command('aws')}"
        raise settings.error("sasl.mechanism", why) from None
    if settings.mechanism == AWS_MSK_IAM:
        return lambda host: AwsMskIam(signer, host)
    return lambda host: OauthBearer(AwsToken(signer, host), clock, refused_fix=REFUSED_FIX)


def make_mechanism(settings: SaslSettings, clock: Clock) -> SaslMechanism:
    """Return the mechanism that settings name, with its credentials.

    Raises:
        ConfigError: if there is no such mechanism, or a token cannot be made as the settings say.
    """
    make = _MAKERS.get(settings.mechanism)
    if make is None:
        why = f"expected one of {', '.join(_MAKERS)}, found {settings.mechanism!r}"
        raise settings.error("sasl.mechanism", why)
    return make(settings, clock)


def _plain(settings: SaslSettings, _: Clock) -> SaslMechanism:
    return Plain(settings.username, settings.password)


def _scram(settings: SaslSettings, _: Clock) -> SaslMechanism:
    return Scram(
        settings.mechanism,
        settings.username,
        settings.password,
        is_delegation_token=settings.is_delegation_token,
    )


def _oauthbearer(settings: SaslSettings, clock: Clock) -> SaslMechanism:
    source = _token_source(settings, clock)
    try:
        return OauthBearer(source, clock, settings.extensions)
    except ValueError as error:
        raise settings.error(_JAAS, str(error)) from None


def _token_source(settings: SaslSettings, clock: Clock) -> TokenSource:
    if settings.token is not None:
        return LiteralToken(settings.token)
    if settings.token_file is not None:
        return FileToken(Path(settings.token_file))
    key = _JAAS
    try:
        if settings.token_command is not None:
            key = _COMMAND
            return CommandToken(shlex.split(settings.token_command), settings.timeout_ns, clock)
        if settings.token_endpoint is not None:
            key = _ENDPOINT
            return ProviderToken(_client_credentials(settings), settings.timeout_ns, clock)
        return UnsecuredToken(settings.unsecured, clock)
    except ValueError as error:
        raise settings.error(key, str(error)) from None


def _client_credentials(settings: SaslSettings) -> ClientCredentials:
    assert settings.token_endpoint is not None
    return ClientCredentials(
        settings.token_endpoint,
        settings.client_id,
        settings.client_secret,
        settings.scope,
        settings.https_ca_file or "",
    )


_MAKERS: Final[dict[str, Callable[[SaslSettings, Clock], SaslMechanism]]] = {
    "PLAIN": _plain,
    "SCRAM-SHA-256": _scram,
    "SCRAM-SHA-512": _scram,
    "OAUTHBEARER": _oauthbearer,
}
