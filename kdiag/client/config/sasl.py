"""SASL settings: the mechanism and the credentials, in Java's form or librdkafka's.

Credentials are in `sasl.jaas.config` (Java), in `sasl.username` and `sasl.password` (librdkafka) or
in the file that `sasl.password.file` names; for each of the two the source that counts most wins.

Source: `OAuthBearerUnsecuredLoginCallbackHandler`, `OAuthBearerSaslClientCallbackHandler` and
`FileJwtRetriever` of Kafka 4.4.0; KIP-48 (delegation tokens), KIP-342 (extensions); README of
aws-msk-iam-auth.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from kdiag.client.config.sources import Setting, read_small_file
from kdiag.client.config.values import ConfigValues, Secret
from kdiag.errors import NoPasswordError

if TYPE_CHECKING:
    from kdiag.client.config.jaas import JaasEntry

AWS_HANDLERS: Final = (".IAMClientCallbackHandler", ".IAMOAuthBearerLoginCallbackHandler")
"""Classes of AWS's Java library, without their package: the second makes tokens of OAUTHBEARER."""

ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"

_AWS_MSK_IAM: Final = "AWS_MSK_IAM"
_LOGIN_HANDLER: Final = "sasl.login.callback.handler.class"
_MODULES: Final = {
    "PlainLoginModule": ("PLAIN",),
    "ScramLoginModule": ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    "OAuthBearerLoginModule": ("OAUTHBEARER",),
    "IAMLoginModule": (_AWS_MSK_IAM,),
}
"""The mechanisms of each login module, by its class without the package."""
_KERBEROS: Final = "Krb5LoginModule"
_NO_GSSAPI: Final = (
    "GSSAPI (Kerberos) is not supported; use a listener with PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 "
    "or OAUTHBEARER, and set sasl.mechanism to that"
)
_UNSECURED: Final = "unsecuredLogin"
_FROM_FILE: Final = "sasl.oauthbearer.token.file"
_FROM_COMMAND: Final = "sasl.oauthbearer.token.command"
_SCHEMES: Final = ("https://", "http://")
"""Kafka's own allowlist since CVE-2025-27817: any other address may be a file of this machine."""
_CREDENTIALS: Final = "sasl.oauthbearer.client.credentials.client"
_GRANT_TYPE: Final = "sasl.oauthbearer.grant.type"
_EXTENSIONS: Final = ("extension_", "unsecuredLoginExtension_")


class SaslConfig(NamedTuple):
    """How a client proves who it is; the fields are those of `SaslSettings`.

    Attributes:
        mechanism: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`, `OAUTHBEARER` or `AWS_MSK_IAM`.
        username: the user's name, or the id of a delegation token; empty for OAUTHBEARER.
        password: the password, or the HMAC of a delegation token; empty for OAUTHBEARER.
        is_delegation_token: whether these are a delegation token's (SCRAM only).
        token: the token itself (OAUTHBEARER only).
        token_file: if that is None, the file with the token, read whenever one is needed.
        token_command: if both are None, the command that prints it.
        token_endpoint: if all are None, the address of an identity provider's token endpoint.
        client_id, client_secret, scope: what it gives a token for.
        https_ca_file: a PEM file of who vouches for it; None for the system's.
        unsecured: if there is no endpoint either, Java's options for an unsecured token, such as
            `unsecuredLoginStringClaim_sub`.
        extensions: SASL extensions to send with the token.
        is_aws: whether the credentials are AWS's, for either of the last two mechanisms.
        aws_profile, aws_region: the names of these; empty for AWS's usual ones.
    """

    mechanism: str
    username: str = ""
    password: Secret = Secret()
    is_delegation_token: bool = False
    token: Secret | None = None
    token_file: str | None = None
    token_command: str | None = None
    token_endpoint: str | None = None
    client_id: str = ""
    client_secret: Secret = Secret()
    scope: str = ""
    https_ca_file: str | None = None
    unsecured: Mapping[str, str] = {}
    extensions: Mapping[str, str] = {}
    is_aws: bool = False
    aws_profile: str = ""
    aws_region: str = ""


class Credentials(NamedTuple):
    """The `sasl.username` and `sasl.password` that other settings imply.

    Attributes:
        settings: these, each with the setting that implies it.
        jaas: the entry of `sasl.jaas.config`, if it is set.
    """

    settings: list[tuple[Setting, Setting]]
    jaas: "JaasEntry | None"


def read_credentials(settings: Mapping[str, Setting]) -> Credentials:
    """Return the credentials in `sasl.password.file` and `sasl.jaas.config`, the former first.

    Raises:
        ConfigError: if the file cannot be read, or Java would refuse the latter.
    """
    found = []
    if file := settings.get("sasl.password.file"):
        found.append((_password_in(file), file))
    jaas = settings.get("sasl.jaas.config")
    if jaas is None:
        return Credentials(found, None)
    from kdiag.client.config.jaas import parse_jaas  # noqa: PLC0415 - 5 ms, JAAS only

    try:
        entry = parse_jaas(jaas.value)
    except ValueError as error:
        raise jaas.wrong(str(error)) from None
    for option in ("username", "password"):
        if option in entry.options:
            implied = Setting(f"sasl.{option}", entry.options[option], jaas.origin, jaas.name)
            found.append((implied, jaas))
    return Credentials(found, entry)


def _password_in(file: Setting) -> Setting:
    file.require_trust(f"send what is in {file.value} to the brokers")
    data = read_small_file(file.value, file.name, file.origin)
    password = data.decode(errors="surrogateescape").rstrip("\r\n")
    if not password or "\n" in password:
        raise file.wrong(f"expected one line in {file.value}: the password")
    return Setting("sasl.password", password, f"{file.origin} {file.value}".strip(), file.name)


def sasl_config(values: ConfigValues, jaas: "JaasEntry | None") -> SaslConfig:
    """Return how to log in.

    Raises:
        NoPasswordError: if only the password is missing.
        ConfigError: if credentials are missing, or kdiag does not have the mechanism.
    """
    mechanism = values.choice("sasl.mechanism")
    module = None if jaas is None else jaas.login_module.rpartition(".")[2]
    if mechanism == "GSSAPI" or module == _KERBEROS:
        raise values.wrong("sasl.mechanism", _NO_GSSAPI)
    if module is not None and module not in _MODULES:
        known = ", ".join(_MODULES)
        raise values.wrong("sasl.jaas.config", f"expected one of the login modules {known}")
    options = {} if jaas is None else jaas.options
    if mechanism == _AWS_MSK_IAM:
        return _with_aws(mechanism, values, options)
    if mechanism == "OAUTHBEARER":
        return _oauthbearer(values, options)
    username, password = values.text("sasl.username"), values.secret("sasl.password")
    if not username or not password:
        missing = "a password" if username else "a user name"
        error = values.wrong(
            "sasl.mechanism",
            f"{mechanism} needs {missing}: set sasl.username and sasl.password.file, or give both "
            "in sasl.jaas.config",
        )
        raise NoPasswordError(error, username) if username else error
    is_token = options.get("tokenauth", "").lower() == "true"
    return SaslConfig(mechanism, username, password, is_delegation_token=is_token)


def mismatch(mechanism: str, jaas: "JaasEntry | None") -> str | None:
    """Return the mechanism's login module if another one is configured."""
    module = "" if jaas is None else jaas.login_module.rpartition(".")[2]
    if module in _MODULES and mechanism not in _MODULES[module]:
        return next(name for name, mechanisms in _MODULES.items() if mechanism in mechanisms)
    return None


def _oauthbearer(values: ConfigValues, options: Mapping[str, str]) -> SaslConfig:
    config = SaslConfig(
        "OAUTHBEARER",
        token=values.secret("sasl.oauthbearer.token"),
        token_file=values.path(_FROM_FILE),
        token_command=values.text(_FROM_COMMAND) or None,
        unsecured=_unsecured(values, options),
        extensions=dict(_extensions(values, options)),
    )
    if config.token:
        return config
    if config.token_file:
        _require_trust(values, _FROM_FILE, f"send what is in {config.token_file} to the brokers")
        return config
    if config.token_command:
        _require_trust(values, _FROM_COMMAND, f"start {config.token_command!r}")
        return config
    url = values.text(ENDPOINT)
    handler = values.setting(_LOGIN_HANDLER)
    if handler is not None and handler.value.strip().endswith(AWS_HANDLERS[1]):
        return _with_aws("OAUTHBEARER", values, options)
    if url:
        if not url.lower().startswith(_SCHEMES):
            why = f"expected an address that begins with https:// or http://, found {url!r}"
            in_file = f"; a token in a file goes into {_FROM_FILE}"
            raise values.wrong(ENDPOINT, why + in_file * url.lower().startswith("file:"))
        return _with_provider(config, values, options)
    if config.unsecured:
        return config
    why = f"OAUTHBEARER needs a token: set {ENDPOINT}, {_FROM_FILE} or {_FROM_COMMAND}"
    raise values.wrong("sasl.mechanism", why)


def open_endpoint(sasl: SaslConfig) -> str:
    """Return where the secret of an OAuth client goes over http; empty if it is encrypted."""
    scheme, _, rest = (sasl.token_endpoint or "").partition("://")
    place = re.split("[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
    return f"http://{place}" if scheme.lower() == "http" else ""


def _require_trust(values: ConfigValues, key: str, act: str) -> None:
    setting = values.setting(key)
    if setting is not None:
        setting.require_trust(act)


def _with_aws(mechanism: str, values: ConfigValues, options: Mapping[str, str]) -> SaslConfig:
    """Return how to log in with credentials of AWS."""
    for option in options:
        if option.startswith("awsRole"):
            why = (
                f"{option} is not supported; name the role in a profile of ~/.aws/config"
                " (role_arn), and that profile in awsProfileName"
            )
            raise values.wrong("sasl.jaas.config", why)
    return SaslConfig(
        mechanism,
        is_aws=True,
        aws_profile=values.text("sasl.aws.profile") or options.get("awsProfileName", ""),
        aws_region=values.text("sasl.aws.region"),
    )


def _with_provider(
    config: SaslConfig, values: ConfigValues, options: Mapping[str, str]
) -> SaslConfig:
    """Return how to log in with a token of an identity provider."""
    grant = values.text(_GRANT_TYPE)
    if grant not in {"", "client_credentials"}:
        why = f"kdiag asks with client credentials alone; {_FROM_COMMAND} may do more"
        raise values.wrong(_GRANT_TYPE, why)
    client_id = values.text(f"{_CREDENTIALS}.id") or options.get("clientId", "")
    secret = values.secret(f"{_CREDENTIALS}.secret") or Secret(options.get("clientSecret", ""))
    if not client_id or not secret:
        missing = "secret" if client_id else "id"
        why = (
            f"needs the client's {missing} as well: set {_CREDENTIALS}.{missing}, or give clientId "
            "and clientSecret in sasl.jaas.config"
        )
        raise values.wrong(ENDPOINT, why)
    return config._replace(
        token_endpoint=values.text(ENDPOINT),
        client_id=client_id,
        client_secret=secret,
        scope=values.text("sasl.oauthbearer.scope") or options.get("scope", ""),
        https_ca_file=values.path("https.ca.location"),
    )


def _unsecured(values: ConfigValues, options: Mapping[str, str]) -> dict[str, str]:
    """Return Java's options for an unsecured token, given in Java's form or librdkafka's."""
    found = {
        key: value
        for key, value in options.items()
        if key.startswith(_UNSECURED) and not key.startswith(_EXTENSIONS)
    }
    if values.flag("enable.sasl.oauthbearer.unsecure.jwt"):
        librdkafka = dict(_pairs(values, "sasl.oauthbearer.config", None))
        claim = librdkafka.get("principalClaimName", "sub")
        if "principal" in librdkafka:
            found.setdefault("unsecuredLoginPrincipalClaimName", claim)
            found.setdefault(f"unsecuredLoginStringClaim_{claim}", librdkafka["principal"])
    return found


def _extensions(values: ConfigValues, options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from _pairs(values, "sasl.oauthbearer.extensions", ",")
    for prefix in _EXTENSIONS:
        for key, value in options.items():
            if key.startswith(prefix):
                yield key.removeprefix(prefix), value


def _pairs(values: ConfigValues, key: str, separator: str | None) -> Iterator[tuple[str, str]]:
    for word in filter(None, map(str.strip, values.text(key).split(separator))):
        name, equals, value = word.partition("=")
        if not equals:
            raise values.wrong(key, "expected name=value")
        yield name, value
