"""Config providers: values kept elsewhere, `${env:NAME}`, `${file:PATH:KEY}`, `${dir:FOLDER:FILE}`.

Kafka's clients know no provider before `config.providers` names it; kdiag always knows these three
by the names above, and also by those that the configuration gives them. Kafka leaves a reference to
nothing as it is; kdiag reports it. What a reference leads to may be sent to the brokers that the
same file names, so only sources that the user trusts may have one.

Source: `ConfigTransformer`, `EnvVarConfigProvider`, `FileConfigProvider` and
`DirectoryConfigProvider` of Kafka 4.4.0 (KIP-297, KIP-421, KIP-887).
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from kdiag.client.config.sources import Setting, read_java_properties, read_small_file

_REFERENCE: Final = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")
_PACKAGE: Final = "org.apache.kafka.common.config.provider."
_CLASSES: Final = {
    "EnvVarConfigProvider": "env",
    "FileConfigProvider": "file",
    "DirectoryConfigProvider": "dir",
}


def provider_kinds(settings: Mapping[str, Setting]) -> dict[str, str]:
    """Return the kind of each provider by its name: `env`, `file` or `dir`.

    Raises:
        ConfigError: if `config.providers` names one that only Java can load.
    """
    kinds = {kind: kind for kind in _CLASSES.values()}
    named = settings.get("config.providers")
    if named is None:
        return kinds
    for name in map(str.strip, named.value.split(",")):
        provider = settings.get(f"config.providers.{name}.class", named)
        kind = _CLASSES.get(provider.value.strip().removeprefix(_PACKAGE))
        if kind is None:
            raise provider.wrong(f"expected {name!r} to be one of {', '.join(_CLASSES)}")
        kinds[name] = kind
    return kinds


def replaced(setting: Setting, kinds: Mapping[str, str], environment: Mapping[str, str]) -> Setting:
    """Return a setting with the references in its value replaced.

    Args:
        setting: as its source has it.
        kinds: as `provider_kinds` returns them.
        environment: variables by name.

    Raises:
        ConfigError: if a reference is to nothing, or its source may not have one.
    """
    if "${" not in setting.value:
        return setting

    def value(match: re.Match[str]) -> str:
        name, _, path, key = match.groups()
        kind = kinds.get(name)
        if kind is None:
            return match.group()
        setting.require_trust(f"read {_SOURCES[kind]} {path or key}")
        if kind == "env":
            return _variable(setting, environment, key)
        return _READERS[kind](setting, path or "", key)

    return setting._replace(value=_REFERENCE.sub(value, setting.value))


def _variable(setting: Setting, environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name)
    if value is None:
        raise setting.wrong(f"${name} is not set")
    return value


def _property(setting: Setting, path: str, key: str) -> str:
    data = read_small_file(path, setting.name, setting.origin)
    values = {each.name: each.value for each in read_java_properties(data, path)}
    if key not in values:
        raise setting.wrong(f"there is no {key} in {path}")
    return values[key]


def _content(setting: Setting, folder: str, file: str) -> str:
    path = f"{folder}/{file}"
    try:
        return read_small_file(path, setting.name, setting.origin).decode()
    except UnicodeDecodeError:
        raise setting.wrong(f"{path} is not UTF-8") from None


def has_reference(text: str) -> bool:
    """Return whether a value may refer to something elsewhere, whatever its providers are named."""
    return _REFERENCE.search(text) is not None


_SOURCES: Final = {"env": "the environment variable", "file": "the file", "dir": "the folder"}
_READERS: Final[dict[str, Callable[[Setting, str, str], str]]] = {
    "file": _property,
    "dir": _content,
}
