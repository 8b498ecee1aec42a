"""Loads the configuration of a client: merges all sources into typed values.

The sources, the one that counts most first:

1. options of the command line;
2. `-X key=value`;
3. `KDIAG_...` variables, such as `KDIAG_BOOTSTRAP_SERVERS`;
4. the profile;
5. the file: `--config`, or `$KDIAG_CONFIG`, or the one that the profile refers to;
6. if nothing so far names a broker, `$KAFKA_BOOTSTRAP_SERVERS` or `$BROKERS`;
7. Kafka's defaults.

A profile or a file on the command line replaces `$KDIAG_PROFILE` and `$KDIAG_CONFIG`; the `current`
profile counts if no profile and no file is named, and kcat's `$KCAT_CONFIG` is the file if there is
no such profile either.

A file may come from someone else. It may start no program and read nothing of this machine, because
the brokers that it names would receive that: only the command line, variables, and profiles of the
user's own may.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from kdiag.client.config.keys import (
    ALTERNATIVES,
    NUMBERS,
    SECRETS,
    TYPES,
    UNSUPPORTED,
    USED,
    is_accepted,
    near_names,
)
from kdiag.client.config.profiles import is_own_file, profiles_file, read_profile
from kdiag.client.config.providers import provider_kinds, replaced
from kdiag.client.config.sasl import (
    AWS_HANDLERS,
    ENDPOINT,
    SaslConfig,
    mismatch,
    open_endpoint,
    read_credentials,
    sasl_config,
)
from kdiag.client.config.servers import BootstrapServer, parse_bootstrap_server
from kdiag.client.config.sources import (
    CONFIG_VARIABLE,
    KCAT_VARIABLES,
    PROFILE_VARIABLE,
    Setting,
    properties_on_command_line,
    read_settings_file,
    settings_in_environment,
    settings_of_others,
)
from kdiag.client.config.tls import TlsConfig, tls_config
from kdiag.client.config.values import ConfigValues
from kdiag.errors import ConfigError
from kdiag.wire.client_release import CLIENT_RELEASES, ClientRelease, client_release

_X: Final = "-X"
_OF_LOGINS: Final = ("sasl.mechanism", "sasl.password.file")
_OF_FILE: Final = "add --allow-programs if you trust that file"
_KNOWN_HANDLERS: Final = (".OAuthBearerLoginCallbackHandler", *AWS_HANDLERS)
"""Classes of Kafka's own, and of AWS's, that do what kdiag does."""

_NEVER: Final = -1
"""Java's value for librdkafka's 0 of `connections.max.idle.ms`."""
_PUBLIC: Final = frozenset({"ssl.keystore.certificate.chain", "ssl.truststore.certificates"})
"""Settings of type PASSWORD that are not secret."""


class ConfigSources(NamedTuple):
    """The sources of a configuration.

    Attributes:
        options: the settings that have an option of their own.
        properties: `key=value` texts of `-X`.
        file: the file that the command line names.
        profile: the profile that the command line names.
        environment: variables by name.
        allows_programs: whether files may start programs, and read other files and variables.
    """

    options: Sequence[Setting] = ()
    properties: Sequence[str] = ()
    file: str | None = None
    profile: str | None = None
    environment: Mapping[str, str] = {}
    allows_programs: bool = False


class ClientConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of a client; the names are Kafka's, the times in milliseconds.

    Attributes:
        bootstrap_servers: empty if none was named.
        security_protocol: `PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`.
        tls: for `SSL` and `SASL_SSL`.
        sasl: for `SASL_PLAINTEXT` and `SASL_SSL`, else None.
        as_version: the Kafka release as the clients of which kdiag speaks; None for no such limit.
        connections_max_idle_ms: -1 for never.
        send_buffer_bytes, receive_buffer_bytes: -1 leaves it to the kernel.
        profile: the name of the profile in force.
        values: every setting in force, with its origin.
        warnings: likely mistakes.
    """

    bootstrap_servers: tuple[BootstrapServer, ...]
    security_protocol: str
    tls: TlsConfig
    sasl: SaslConfig | None
    client_id: str
    as_version: ClientRelease | None
    client_rack: str
    client_dns_lookup: str
    isolation_level: str
    request_timeout_ms: int
    default_api_timeout_ms: int
    socket_connection_setup_timeout_ms: int
    socket_connection_setup_timeout_max_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    metadata_max_age_ms: int
    connections_max_idle_ms: int
    send_buffer_bytes: int
    receive_buffer_bytes: int
    max_in_flight_requests_per_connection: int
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    auto_commit_interval_ms: int
    profile: str | None
    values: ConfigValues
    warnings: tuple[str, ...]

    @property
    def has_tls(self) -> bool:
        """Return whether connections are encrypted."""
        return self.security_protocol.endswith("SSL")


def load_config(sources: ConfigSources) -> ClientConfig:
    """Return the configuration from all sources.

    Raises:
        ConfigError: if a file cannot be read, a value is wrong, or credentials are missing.
    """
    return typed_config(read_settings(sources))


class Settings:
    """For each key the setting of the source that counts most.

    Attributes:
        by_key: these settings.
        values: the same, read by their kind.
        profile: the name of the profile in force.
        warnings: likely mistakes.
    """

    def __init__(
        self, layers: Sequence[Sequence[Setting]], profile: str | None, warnings: list[str]
    ) -> None:
        """Merge the settings of sources, the one that counts most first."""
        self.by_key: dict[str, Setting] = {}
        self.profile = profile
        self.warnings = warnings
        self.values = ConfigValues(self.by_key)
        self._ranks: dict[str, int] = {}
        for rank, layer in enumerate(layers):
            for setting in layer:
                if rank <= self._ranks.get(setting.key, rank):
                    self.by_key[setting.key] = setting
                    self._ranks[setting.key] = rank
        self._drop_outranked()

    def _drop_outranked(self) -> None:
        """Keep one source for settings of the same thing, and for a file and its type."""
        for keys in ALTERNATIVES:
            ranks = {key: self._ranks[key] for key in keys if key in self._ranks}
            self._drop(key for key, rank in ranks.items() if rank > min(ranks.values()))
        for key, file in TYPES.items():
            if {key, file} <= self._ranks.keys() and self._ranks[key] > self._ranks[file]:
                self._drop([key])

    def _drop(self, keys: Iterable[str]) -> None:
        for key in keys:
            del self.by_key[key], self._ranks[key]

    def offer(self, setting: Setting, taken_from: Setting) -> None:
        """Add a setting that another one implies, unless a source of the same rank has it."""
        rank = self._ranks[taken_from.key]
        if rank < self._ranks.get(setting.key, rank + 1):
            self.by_key[setting.key] = setting
            self._ranks[setting.key] = rank


def read_settings(sources: ConfigSources) -> Settings:
    """Return the settings in force; their values are not checked yet.

    Raises:
        ConfigError: if a file cannot be read, or a value refers to nothing.
    """
    settings = _read_sources(sources)
    kinds = provider_kinds(settings.by_key)
    for key in USED & settings.by_key.keys():
        settings.by_key[key] = replaced(settings.by_key[key], kinds, sources.environment)
    settings.warnings += _warnings_about(settings.by_key.values())
    return settings


def _read_sources(sources: ConfigSources) -> Settings:
    environment = sources.environment
    variables, warnings = settings_in_environment(environment)
    name, named_by = sources.profile, "--profile"
    file = sources.file
    if not name and not file:
        name, named_by = environment.get(PROFILE_VARIABLE), PROFILE_VARIABLE
        file = environment.get(CONFIG_VARIABLE)
    profile = None
    caution, of_profiles = _OF_FILE, ""
    if name or not file:
        profiles = profiles_file(environment)
        profile = read_profile(profiles, name or None, named_by)
        of_profiles = _caution_about(profiles)
    if profile is not None and profile.file and not file:
        file = profile.file
        caution = of_profiles or _caution_about(file)
    kcat = None if file or profile else _first_of(environment, KCAT_VARIABLES)
    in_file = read_settings_file(file or kcat or "", is_kcat=not file) if file or kcat else []
    if sources.allows_programs:
        caution = of_profiles = ""
    layers = [
        sources.options,
        properties_on_command_line(sources.properties, _X),
        variables,
        _with_caution(profile.settings if profile else [], of_profiles),
        _with_caution(in_file, caution),
        settings_of_others(environment),
    ]
    return Settings(layers, profile.name if profile else None, warnings)


def _caution_about(file: str | Path) -> str:
    """Return what allows a file of profiles, or one that a profile names, to start programs."""
    if is_own_file(file):
        return ""
    return f"make {file} your own and writable for you alone (chmod go-w), or {_OF_FILE}"


def _with_caution(settings: Iterable[Setting], caution: str) -> list[Setting]:
    return [each._replace(caution=caution) for each in settings]


def _first_of(environment: Mapping[str, str], variables: Sequence[str]) -> str | None:
    return next((value for each in variables if (value := environment.get(each))), None)


def _warnings_about(settings: Iterable[Setting]) -> list[str]:
    found = []
    for setting in settings:
        key, named = setting.key, f"{setting.name} ({setting.origin})"
        if key in USED:
            if setting.origin == _X and key in SECRETS and key not in _PUBLIC:
                found.append(
                    f"{named}: every user of this machine can read it in the list of processes; "
                    "use --password-file, a variable or a file"
                )
        elif key in UNSUPPORTED and not setting.value.endswith(_KNOWN_HANDLERS):
            found.append(f"{named}: kdiag ignores this setting")
        elif key not in UNSUPPORTED and not is_accepted(key):
            near = near_names(setting.name)
            hint = f"did you mean {' or '.join(near)}?" if near else "it has no effect"
            found.append(f"unknown setting {named}; {hint}")
    return found


def typed_config(settings: Settings) -> ClientConfig:
    """Return settings as typed values, with the credentials from a file or `sasl.jaas.config`.

    Raises:
        ConfigError: if a value is wrong, or credentials are missing.
    """
    values = settings.values
    warnings = list(settings.warnings)
    protocol = values.choice("security.protocol")
    sasl = None
    if protocol.startswith("SASL_"):
        sasl = _sasl(settings, warnings)
    else:
        unused = [settings.by_key[key] for key in _OF_LOGINS if key in settings.by_key]
        why = f"not used, since security.protocol is {protocol}"
        warnings += [str(ConfigError(each.name, each.origin, why)) for each in unused]
    numbers: dict[str, Any] = {key.replace(".", "_"): values.number(key) for key in NUMBERS}
    numbers["connections_max_idle_ms"] = numbers["connections_max_idle_ms"] or _NEVER
    return ClientConfig(
        bootstrap_servers=_bootstrap_servers(values, protocol),
        security_protocol=protocol,
        tls=tls_config(values),
        sasl=sasl,
        client_id=values.text("client.id"),
        as_version=client_version(values),
        client_rack=values.text("client.rack"),
        client_dns_lookup=values.choice("client.dns.lookup"),
        isolation_level=values.choice("isolation.level"),
        **numbers,
        profile=settings.profile,
        values=values,
        warnings=tuple(warnings),
    )


def _sasl(settings: Settings, warnings: list[str]) -> SaslConfig:
    credentials = read_credentials(settings.by_key)
    for setting, taken_from in credentials.settings:
        settings.offer(setting, taken_from)
    sasl = sasl_config(settings.values, credentials.jaas)
    if endpoint := open_endpoint(sasl):
        why = f"the client secret goes to {endpoint} unencrypted; use an address with https://"
        warnings.append(str(settings.values.wrong(ENDPOINT, why)))
    if expected := mismatch(sasl.mechanism, credentials.jaas):
        jaas = settings.by_key["sasl.jaas.config"]
        warnings.append(
            f"{jaas.name} ({jaas.origin}): Java clients need {expected} for {sasl.mechanism}"
        )
    return sasl


def client_version(values: ConfigValues) -> ClientRelease | None:
    """Return the release as the clients of which kdiag speaks; None if no setting names one.

    Raises:
        ConfigError: if the release is not known.
    """
    text = values.text("as.version").strip()
    release = client_release(text)
    if text and release is None:
        known = ", ".join(CLIENT_RELEASES)
        raise values.wrong("as.version", f"expected a release of Kafka ({known}), found {text!r}")
    return release


def _bootstrap_servers(values: ConfigValues, protocol: str) -> tuple[BootstrapServer, ...]:
    servers = []
    for text in values.words("bootstrap.servers"):
        try:
            servers.append(parse_bootstrap_server(text, protocol))
        except ValueError as error:
            raise values.wrong("bootstrap.servers", str(error)) from None
    return tuple(dict.fromkeys(servers))
