"""`kdiag config import`: profiles from the configuration files of other programs."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from kdiag.client.config.keys import READING_OR_RUNNING, is_secret
from kdiag.client.config.other_programs import ImportedProfile, read_other_file
from kdiag.client.config.profiles import profile_names, profiles_file
from kdiag.client.config.providers import has_reference
from kdiag.errors import ConfigError
from kdiag.exchange.secrets.redaction import REDACTED
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.terminal import Output, harmless, say

_PRIVATE: Final = 0o600


def import_profiles(
    file: Path,
    name: str | None,
    *,
    writes: bool,
    allows_programs: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> ExitCode:
    """Print profiles as kdiag's file has them, or add them to it.

    What is printed has no secrets; what is written has them, for its owner alone.

    Args:
        file: of another program.
        name: the only profile, or the name for one that has none.
        writes: whether to add them.
        allows_programs: whether settings that start programs, or read other files and variables,
            are imported as well: in a profile they need no more permission.
        environment: variables by name.

    Raises:
        ConfigError: if the file cannot be read, or a profile is there already.
    """
    profiles = _chosen(read_other_file(file), name, file)
    if not any(each.settings for each in profiles):
        raise ConfigError("", str(file), "holds no setting of a client")
    if not allows_programs:
        profiles = [_without_programs(each, file) for each in profiles]
    for each in profiles:
        if each.left_out:
            say(f"profile {each.name}: no place for {', '.join(each.left_out)}")
    if not writes:
        screen = Output()
        for line in _toml(profiles, shows_secrets=False):
            screen.line(harmless(line))
        screen.flush()
        return ExitCode.DONE
    _write(profiles_file(environment), profiles)
    return ExitCode.DONE


def _without_programs(profile: ImportedProfile, file: Path) -> ImportedProfile:
    """Return a profile without settings that a file from someone else must not have."""
    refused = [
        key
        for key, value in profile.settings.items()
        if key in READING_OR_RUNNING or has_reference(value)
    ]
    if refused:
        say(
            f"profile {profile.name}: left out {', '.join(refused)}, which would start a program "
            f"or read files and variables of this machine; add --allow-programs if you trust {file}"
        )
    settings = {key: text for key, text in profile.settings.items() if key not in refused}
    return profile._replace(settings=settings)


def _chosen(
    profiles: Sequence[ImportedProfile], name: str | None, file: Path
) -> list[ImportedProfile]:
    if name is None:
        return list(profiles)
    if len(profiles) == 1:
        return [profiles[0]._replace(name=name)]
    chosen = [each for each in profiles if each.name == name]
    if not chosen:
        known = ", ".join(each.name for each in profiles)
        raise ConfigError("", str(file), f"there is no profile {name!r}; there are: {known}")
    return chosen


def _write(target: Path, profiles: Sequence[ImportedProfile]) -> None:
    """Add profiles to a file, which is made if need be."""
    there = profile_names(target)
    if twice := [each.name for each in profiles if each.name in there]:
        why = f"has profiles {', '.join(twice)} already; give another name with --profile"
        raise ConfigError("", str(target), why)
    text = "\n".join(_toml(profiles, shows_secrets=True)) + "\n"
    current = next((each.name for each in profiles if each.is_current), None)
    if not target.exists() and current is not None:
        text = f"current = {_quoted(current)}\n\n{text}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        number = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _PRIVATE)
        with os.fdopen(number, "w", encoding="utf-8") as stream:
            stream.write(f"\n{text}" if there else text)
    except OSError as error:
        raise ConfigError("", str(target), error.strerror or str(error)) from None
    say(f"{target}: added {', '.join(each.name for each in profiles)}")


def _toml(profiles: Sequence[ImportedProfile], *, shows_secrets: bool) -> Iterator[str]:
    """Yield the lines of profiles in TOML, whose texts are JSON's."""
    for number, profile in enumerate(profiles):
        if number:
            yield ""
        yield f"[profiles.{_quoted(profile.name)}]"
        for key, value in profile.settings.items():
            shown = value if shows_secrets or not is_secret(key) else REDACTED
            yield f"{_quoted(key)} = {_quoted(shown)}"


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")
