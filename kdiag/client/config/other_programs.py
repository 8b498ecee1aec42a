"""The configuration files of other programs, as profiles of kdiag's.

    kcl         config.toml      seed_brokers, [tls], [sasl]
    rpk         rpk.yaml         profiles, each with kafka_api
    kafkactl    config.yml       contexts
    kcat        kcat.conf        librdkafka's settings
    Java        *.properties     Kafka's own

What a profile cannot say is told, not left out in silence.

Source: kcl's `client.go`, Redpanda's `rpk_yaml.go`, the README of kafkactl.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from kdiag.client.config.sources import read_settings_file, read_small_file
from kdiag.errors import ConfigError

_MECHANISMS: Final = {
    "plain": "PLAIN",
    "plaintext": "PLAIN",
    "scramsha256": "SCRAM-SHA-256",
    "scramsha512": "SCRAM-SHA-512",
}
_TLS_FILES: Final = {
    **dict.fromkeys(("ca_cert_path", "ca_file", "ca", "tlsCA"), "ssl.ca.location"),
    **dict.fromkeys(
        ("client_cert_path", "cert_file", "cert", "tlsCert"), "ssl.certificate.location"
    ),
    **dict.fromkeys(("client_key_path", "key_file", "certKey", "tlsCertKey"), "ssl.key.location"),
}
_INSECURE: Final = frozenset({"insecure", "insecure_skip_verify", "tlsInsecure"})
_USERS: Final = frozenset({"user", "username"})
_SECRETS: Final = frozenset({"pass", "password"})
_BROKERS: Final = frozenset({"brokers", "seed_brokers"})
_NOTHING: Final = ("", "null", "~")


class ImportedProfile(NamedTuple):
    """One profile that another program's file makes.

    Attributes:
        name: as it is there, or that of the program.
        settings: by the names that kdiag knows.
        left_out: what has no place in a profile.
        is_current: whether it is the one in force there.
    """

    name: str
    settings: dict[str, str]
    left_out: list[str]
    is_current: bool = False


def read_other_file(file: Path) -> list[ImportedProfile]:
    """Return the profiles in a file of another program's; its name and content say of which.

    Raises:
        ConfigError: if it cannot be read, or is of no such program.
    """
    if file.suffix in {".yaml", ".yml"}:
        return list(_of_yaml(file))
    if file.suffix == ".toml":
        return [_profile("kcl", _toml(file), is_current=True)]
    given = read_settings_file(file, is_kcat=file.suffix != ".properties")
    settings = {each.key: each.value for each in given}
    return [ImportedProfile(file.stem, settings, [], is_current=True)]


def _toml(file: Path) -> Any:
    import tomllib  # noqa: PLC0415 - 2 ms, kcl's files only

    try:
        return tomllib.loads(read_small_file(file).decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError("", str(file), f"expected TOML: {error}") from None


def _yaml(file: Path) -> Any:
    """Return the mapping in a file, its values as text: a password may look like a number."""
    import yaml  # noqa: PLC0415 - 10 ms, these files only

    try:
        text = read_small_file(file).decode()
        for event in yaml.parse(text, yaml.BaseLoader):
            if isinstance(event, yaml.AliasEvent):  # a few of them can stand for gigabytes
                line = event.start_mark.line + 1
                raise ConfigError("", str(file), f"line {line}: aliases are not supported")
        document = yaml.load(text, yaml.BaseLoader)  # noqa: S506 - it makes text, lists, mappings
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        why = " ".join(str(error).split())
        raise ConfigError("", str(file), f"expected YAML: {why}") from None
    return document if isinstance(document, dict) else {}


def _of_yaml(file: Path) -> Iterator[ImportedProfile]:
    document = _yaml(file)
    contexts, profiles = document.get("contexts"), document.get("profiles")
    if isinstance(contexts, dict):
        current = document.get("current-context")
        for name, context in contexts.items():
            yield _profile(name, context or {}, is_current=name == current)
    elif isinstance(profiles, list):
        current = document.get("current_profile")
        for each in (entry for entry in profiles if isinstance(entry, dict)):
            name, api = str(each.get("name")), each.get("kafka_api") or {}
            yield _profile(name, api, is_current=name == current)
    else:
        raise ConfigError("", str(file), "expected `contexts` (kafkactl) or `profiles` (rpk)")


def _profile(name: str, given: Any, *, is_current: bool) -> ImportedProfile:
    """Return the profile of one connection, whichever program wrote it."""
    given = given if isinstance(given, dict) else {}
    settings: dict[str, str] = {}
    left_out: list[str] = []
    has_tls = _is_on(given, "tls") or any(key in _TLS_FILES for key in given)
    has_sasl = bool(given.get("sasl")) and _is_on(given, "sasl")
    for key, value in given.items():
        if key in _BROKERS:
            texts = value if isinstance(value, list) else [value]
            settings["bootstrap.servers"] = ",".join(map(str, texts))
        elif key == "clientID" and value:
            settings["client.id"] = str(value)
        elif key in _TLS_FILES or key in _INSECURE:
            _add_tls({key: value}, settings, left_out)
        elif key == "tls":
            _add_tls(value if has_tls and isinstance(value, dict) else {}, settings, left_out)
        elif key == "sasl":
            _add_sasl(value if has_sasl and isinstance(value, dict) else {}, settings, left_out)
        else:
            left_out.append(key)
    if has_tls or has_sasl:
        names = ("SASL_" if has_sasl else "", "SSL" if has_tls else "PLAINTEXT")
        settings["security.protocol"] = "".join(names)
    return ImportedProfile(name, settings, left_out, is_current)


def _is_on(given: Mapping[str, Any], part: str) -> bool:
    """Return whether TLS or SASL is asked for: the part is there, and does not say otherwise."""
    value = given.get(part, False)
    enabled = value.get("enabled", True) if isinstance(value, dict) else value in _NOTHING
    return str(enabled).lower() == "true"


def _add_tls(given: Mapping[str, Any], settings: dict[str, str], left_out: list[str]) -> None:
    for key, value in given.items():
        if key in _TLS_FILES and value:
            settings[_TLS_FILES[key]] = str(value)
        elif key in _INSECURE:
            if str(value).lower() == "true":
                settings["enable.ssl.certificate.verification"] = "false"
        elif key != "enabled" and value:
            left_out.append(f"tls.{key}")


def _add_sasl(given: Mapping[str, Any], settings: dict[str, str], left_out: list[str]) -> None:
    for key, value in given.items():
        if key in {"mechanism", "method"}:
            plain = str(value).lower().replace("-", "").replace("_", "")
            settings["sasl.mechanism"] = _MECHANISMS.get(plain, str(value))
        elif key in _USERS and value:
            settings["sasl.username"] = str(value)
        elif key in _SECRETS and value:
            settings["sasl.password"] = str(value)
        elif key != "enabled" and value:
            left_out.append(f"sasl.{key}")
