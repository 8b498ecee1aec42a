"""Profiles: the settings of several clusters under names, in kdiag's own file.

    current = "dev"                      # the profile if none is named

    [profiles.dev]
    bootstrap.servers = "localhost:9092"

    [profiles.prod]
    config = "prod.properties"           # a file of Java's or librdkafka's form beside this one
    bootstrap.servers = ["kafka1:9093", "kafka2:9093"]
    request.timeout.ms = 5000

It is `kdiag/config.toml` in `$XDG_CONFIG_HOME`, which is `~/.config` unless it is set. Only where
only its user can write it may it start programs, and read other files and the environment.

Source: XDG Base Directory Specification.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from kdiag.client.config.sources import Setting, read_small_file, settings_of
from kdiag.errors import ConfigError

_FILE_KEY: Final = "config"
_ROOT: Final = 0
_OTHERS_WRITE: Final = 0o022


class Profile(NamedTuple):
    """The settings of one cluster.

    Attributes:
        name: its name.
        settings: its own settings.
        file: the file with the rest of them; None for none.
    """

    name: str
    settings: list[Setting]
    file: str | None


def profiles_file(environment: Mapping[str, str]) -> Path:
    """Return the path of the file with the profiles, whether or not it exists."""
    folder = environment.get("XDG_CONFIG_HOME", "")
    if not folder.startswith("/"):  # the specification says to ignore relative ones
        folder = f"{environment.get('HOME') or '~'}/.config"
    return Path(folder, "kdiag", "config.toml")


def is_own_file(file: str | Path) -> bool:
    """Return whether a file is the running user's or root's, and no other user can write it."""
    try:
        found = Path(file).expanduser().stat()
    except (OSError, RuntimeError):
        return False
    return found.st_uid in {os.geteuid(), _ROOT} and not found.st_mode & _OTHERS_WRITE


def read_profile(file: Path, name: str | None, origin: str = "--profile") -> Profile | None:
    """Return a profile by name; without a name the `current` one, if there is one.

    Args:
        file: as `profiles_file` returns it.
        name: None for the current one.
        origin: where the name was given.

    Raises:
        ConfigError: if there is no such profile, or the file is not TOML.
    """
    if name is None and not file.exists():
        return None
    document = _read_toml(file)
    if name is None:
        name, origin = document.get("current"), str(file)
        if name is None:
            return None
    profiles = document.get("profiles", {})
    table = profiles.get(name) if isinstance(profiles, dict) and isinstance(name, str) else None
    if not isinstance(table, dict):
        known = ", ".join(profiles) if isinstance(profiles, dict) and profiles else "none"
        raise ConfigError("", origin, f"there is no profile {name!r} in {file}; there are: {known}")
    return _profile(file, str(name), table)


def profile_names(file: Path) -> list[str]:
    """Return the names of all profiles; none if there is no such file.

    Raises:
        ConfigError: if the file cannot be read.
    """
    profiles = _read_toml(file).get("profiles") if file.exists() else None
    return list(profiles) if isinstance(profiles, dict) else []


def _read_toml(file: Path) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - 2 ms, profiles only

    try:
        return tomllib.loads(read_small_file(file).decode())
    except UnicodeDecodeError:
        raise ConfigError("", str(file), "expected UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError("", str(file), str(error) or "nested too deep") from None


def _profile(file: Path, name: str, table: dict[str, Any]) -> Profile:
    origin = f"{file} profile {name}"
    texts = dict(_flattened(table, "", origin))
    config = texts.pop(_FILE_KEY, None)
    settings = [each for key, text in texts.items() for each in settings_of(key, text, origin)]
    return Profile(name, settings, None if config is None else str(_beside(file, config)))


def _beside(file: Path, other: str) -> Path:
    """Return a path that is relative to the folder of a file, unless it starts with `~`."""
    return Path(other) if other.startswith("~") else file.parent / other


def _flattened(table: dict[str, Any], prefix: str, origin: str) -> Iterator[tuple[str, str]]:
    """Yield keys and texts: in TOML `a.b = 1` is a table in a table."""
    for part, value in table.items():
        key = f"{prefix}{part}"
        if isinstance(value, dict):
            yield from _flattened(value, f"{key}.", origin)
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            yield key, ",".join(value)
        elif isinstance(value, bool):
            yield key, str(value).lower()
        elif isinstance(value, str | int):
            yield key, str(value)
        else:
            raise ConfigError(key, origin, "expected a text, a whole number, true, false or texts")
