"""The configuration of a client: typed values, and where each was said.

Sources, the one that counts most first:

1. options of the command line;
2. `-X key=value`;
3. `KDIAG_...` variables, such as `KDIAG_BOOTSTRAP_SERVERS`;
4. the profile;
5. the file: `--config`, or `$KDIAG_CONFIG`, or the one that the profile refers to;
6. where nothing so far names a broker, `$KAFKA_BOOTSTRAP_SERVERS` or `$BROKERS`;
7. Kafka's defaults.

A profile or a file that the command line names sets aside `$KDIAG_PROFILE` and `$KDIAG_CONFIG`;
the profile that is `current` counts when no profile and no file is named, and kcat's `$KCAT_CONFIG`
is the file when there is no such profile either.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from kdiag.client.bootstrap_server import BootstrapServer, parse_bootstrap_server
from kdiag.client.config_keys import SECRETS, UNHEEDED, USED, is_accepted, near_names
from kdiag.client.config_profiles import profiles_file, read_profile
from kdiag.client.config_providers import provider_kinds, replaced
from kdiag.client.config_sasl import SaslConfig, mismatch, read_credentials, sasl_config
from kdiag.client.config_sources import (
    CONFIG_VARIABLE,
    KCAT_VARIABLES,
    PROFILE_VARIABLE,
    Setting,
    properties_on_command_line,
    read_settings_file,
    settings_in_environment,
    settings_of_others,
)
from kdiag.client.config_tls import TlsConfig, tls_config
from kdiag.client.config_values import ConfigValues

_X = "-X"
_PUBLIC = frozenset({"ssl.keystore.certificate.chain", "ssl.truststore.certificates"})


class ConfigSources(NamedTuple):
    """What a configuration is made from.

    Attributes:
        options: the settings that options of their own stand for.
        properties: `key=value` texts of `-X`.
        file: the file that the command line names.
        profile: the profile that the command line names.
        environment: variables by name.
    """

    options: Sequence[Setting] = ()
    properties: Sequence[str] = ()
    file: str | None = None
    profile: str | None = None
    environment: Mapping[str, str] = {}


class ClientConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a client is told; the names are Kafka's, the times in milliseconds.

    Attributes:
        bootstrap_servers: empty when nobody named one.
        security_protocol: `PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`.
        tls: for `SSL` and `SASL_SSL`.
        sasl: for `SASL_PLAINTEXT` and `SASL_SSL`, else None.
        connections_max_idle_ms: -1 for never.
        send_buffer_bytes, receive_buffer_bytes: -1 leaves it to the kernel.
        profile: the name of the profile in force.
        values: every setting in force, with where it was said.
        warnings: what is likely to be a mistake.
    """

    bootstrap_servers: tuple[BootstrapServer, ...]
    security_protocol: str
    tls: TlsConfig
    sasl: SaslConfig | None
    client_id: str
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
    profile: str | None
    values: ConfigValues
    warnings: tuple[str, ...]

    @property
    def has_tls(self) -> bool:
        """Return whether connections are encrypted."""
        return self.security_protocol.endswith("SSL")


def load_config(sources: ConfigSources) -> ClientConfig:
    """Return the configuration that sources amount to.

    Raises:
        ConfigError: if a file cannot be read, a value is wrong, or something is missing to log in.
    """
    layers = _read_layers(sources)
    merged = _Merged(layers.settings)
    kinds = provider_kinds(merged.settings)
    for key in USED & merged.settings.keys():
        merged.settings[key] = replaced(merged.settings[key], kinds, sources.environment)
    warnings = [*layers.warnings, *_warnings_about(merged.settings)]
    return _typed(merged, layers.profile, warnings)


class _Layers(NamedTuple):
    settings: list[Sequence[Setting]]
    profile: str | None
    warnings: list[str]


def _read_layers(sources: ConfigSources) -> _Layers:
    """Read all sources, the one that counts most first."""
    environment = sources.environment
    variables, warnings = settings_in_environment(environment)
    name, named_by = sources.profile, "--profile"
    file = sources.file
    if not name and not file:
        name, named_by = environment.get(PROFILE_VARIABLE), PROFILE_VARIABLE
        file = environment.get(CONFIG_VARIABLE)
    profile = None
    if name or not file:
        profile = read_profile(profiles_file(environment), name or None, named_by)
    if profile is not None:
        file = file or profile.file
    kcat = None if file or profile else _first_of(environment, KCAT_VARIABLES)
    in_file = read_settings_file(file or kcat or "", is_kcat=not file) if file or kcat else []
    settings = [
        sources.options,
        properties_on_command_line(sources.properties, _X),
        variables,
        profile.settings if profile else [],
        in_file,
        settings_of_others(environment),
    ]
    return _Layers(settings, profile.name if profile else None, warnings)


def _first_of(environment: Mapping[str, str], variables: Sequence[str]) -> str | None:
    return next((value for each in variables if (value := environment.get(each))), None)


class _Merged:
    """For each key the setting of the source that counts most.

    Attributes:
        settings: by key.
        ranks: the number of the source of each, the lower the more it counts.
    """

    def __init__(self, layers: Sequence[Sequence[Setting]]) -> None:
        self.settings: dict[str, Setting] = {}
        self.ranks: dict[str, int] = {}
        for rank, layer in enumerate(layers):
            for setting in layer:
                if rank <= self.ranks.get(setting.key, rank):
                    self.settings[setting.key] = setting
                    self.ranks[setting.key] = rank

    def offer(self, setting: Setting, taken_from: Setting) -> None:
        """Put in what another setting says, unless somebody who counts as much says otherwise."""
        rank = self.ranks[taken_from.key]
        if rank < self.ranks.get(setting.key, rank + 1):
            self.settings[setting.key] = setting
            self.ranks[setting.key] = rank


def _warnings_about(settings: Mapping[str, Setting]) -> list[str]:
    found = []
    for setting in settings.values():
        key, place = setting.key, f"{setting.name} ({setting.origin})"
        if key in USED:
            if setting.origin == _X and key in SECRETS and key not in _PUBLIC:
                found.append(
                    f"{place}: everybody on this machine can read it in the list of processes; "
                    "use --password-file, a variable or a file"
                )
        elif key in UNHEEDED:
            found.append(f"{place}: kdiag does not heed this setting")
        elif not is_accepted(key):
            near = near_names(setting.name)
            hint = f"did you mean {' or '.join(near)}?" if near else "it has no effect"
            found.append(f"{place}: there is no such setting; {hint}")
    return found


def _typed(merged: _Merged, profile: str | None, warnings: list[str]) -> ClientConfig:
    values = ConfigValues(merged.settings)
    protocol = values.choice("security.protocol")
    sasl = None
    if protocol.startswith("SASL_"):
        sasl = _sasl(merged, values, warnings)
    elif unused := merged.settings.get("sasl.mechanism"):
        warnings.append(
            f"{unused.name} ({unused.origin}): not used, since security.protocol is {protocol}"
        )
    idle_ms = values.number("connections.max.idle.ms")
    return ClientConfig(
        bootstrap_servers=_bootstrap_servers(values, protocol),
        security_protocol=protocol,
        tls=tls_config(values),
        sasl=sasl,
        client_id=values.text("client.id"),
        client_rack=values.text("client.rack"),
        client_dns_lookup=values.choice("client.dns.lookup"),
        isolation_level=values.choice("isolation.level"),
        request_timeout_ms=values.number("request.timeout.ms"),
        default_api_timeout_ms=values.number("default.api.timeout.ms"),
        socket_connection_setup_timeout_ms=values.number("socket.connection.setup.timeout.ms"),
        socket_connection_setup_timeout_max_ms=values.number(
            "socket.connection.setup.timeout.max.ms"
        ),
        reconnect_backoff_ms=values.number("reconnect.backoff.ms"),
        reconnect_backoff_max_ms=values.number("reconnect.backoff.max.ms"),
        retry_backoff_ms=values.number("retry.backoff.ms"),
        retry_backoff_max_ms=values.number("retry.backoff.max.ms"),
        metadata_max_age_ms=values.number("metadata.max.age.ms"),
        connections_max_idle_ms=idle_ms or -1,  # librdkafka's 0 is never
        send_buffer_bytes=values.number("send.buffer.bytes"),
        receive_buffer_bytes=values.number("receive.buffer.bytes"),
        max_in_flight_requests_per_connection=values.number(
            "max.in.flight.requests.per.connection"
        ),
        profile=profile,
        values=values,
        warnings=tuple(warnings),
    )


def _sasl(merged: _Merged, values: ConfigValues, warnings: list[str]) -> SaslConfig:
    credentials = read_credentials(merged.settings)
    for setting, taken_from in credentials.settings:
        merged.offer(setting, taken_from)
    sasl = sasl_config(values, credentials.jaas)
    if expected := mismatch(sasl.mechanism, credentials.jaas):
        jaas = merged.settings["sasl.jaas.config"]
        warnings.append(
            f"{jaas.name} ({jaas.origin}): Java clients need {expected} for {sasl.mechanism}"
        )
    return sasl


def _bootstrap_servers(values: ConfigValues, protocol: str) -> tuple[BootstrapServer, ...]:
    servers = []
    for text in values.words("bootstrap.servers"):
        try:
            servers.append(parse_bootstrap_server(text, protocol))
        except ValueError as error:
            raise values.wrong("bootstrap.servers", str(error)) from None
    return tuple(dict.fromkeys(servers))
