"""Sources of settings: options, `-X`, the environment, profiles and files.

A source is a list of settings, each with its origin; of two for the same key in one source the last
counts. Files are Java's `client.properties`, read as Java reads them, or, if the name ends in
`.conf`, librdkafka's `key=value` lines as kcat reads its `kcat.conf`.

Source: `java.util.Properties.load`; kcat's `read_conf_file`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from kdiag.client.config.keys import (
    IMPLICATIONS,
    TRANSLATIONS,
    USED,
    VALUES,
    is_accepted,
    is_secret,
    near_names,
)
from kdiag.errors import ConfigError
from kdiag.exchange.secrets.redaction import REDACTED

ENVIRONMENT_PREFIX: Final = "KDIAG_"
PROFILE_VARIABLE: Final = "KDIAG_PROFILE"
CONFIG_VARIABLE: Final = "KDIAG_CONFIG"
KCAT_VARIABLES: Final = ("KCAT_CONFIG", "KAFKACAT_CONFIG")
"""Variables that name a file for kcat; the first that is set counts."""
BROKER_VARIABLES: Final = ("KAFKA_BOOTSTRAP_SERVERS", "BROKERS")
"""Variables that other programs read bootstrap servers from; the first that is set counts."""

_OUR_VARIABLES: Final = frozenset({PROFILE_VARIABLE, CONFIG_VARIABLE})
_MAX_FILE_BYTES: Final = 1 << 20


class Setting(NamedTuple):
    """One setting as it was given.

    Attributes:
        key: the canonical name.
        value: as text, as it was written.
        origin: where it was given, such as `client.properties:7`, `-X` or `KDIAG_CLIENT_ID`.
        name: the name that it has there.
        caution: what allows it to start programs and to read other files and the environment;
            empty where it may.
    """

    key: str
    value: str
    origin: str
    name: str
    caution: str = ""

    @property
    def shown(self) -> str:
        """Return the value as it may be shown."""
        return REDACTED if self.value and is_secret(self.key) else self.value

    def wrong(self, why: str) -> ConfigError:
        """Return the error about its value."""
        return ConfigError(self.name, self.origin, why)

    def require_trust(self, act: str) -> None:
        """Check that its source may do what the setting asks for.

        Args:
            act: what it would do, such as `start get-token`.

        Raises:
            ConfigError: if it may not; says what would allow it.
        """
        if self.caution:
            raise self.wrong(f"would {act}; {self.caution}")

    def __repr__(self) -> str:
        return f"<Setting {self.key}={self.shown!r} from {self.origin}>"


def settings_of(name: str, value: str, origin: str) -> Iterable[Setting]:
    """Yield a setting by its canonical name, after what its name implies."""
    value = VALUES.get((name, value), value)
    if name in IMPLICATIONS and value:
        key, implied = IMPLICATIONS[name]
        yield Setting(key, implied, origin, name)
    yield Setting(TRANSLATIONS.get(name, name), value, origin, name)


def properties_on_command_line(texts: Iterable[str], option: str = "-X") -> list[Setting]:
    """Return the settings of `key=value` texts; a value may hold equals signs.

    Raises:
        ConfigError: if a text has no equals sign or nothing before it.
    """
    found: list[Setting] = []
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise ConfigError("", option, "expected key=value")
        found.extend(settings_of(name, value, option))
    return found


def settings_in_environment(environment: Mapping[str, str]) -> tuple[list[Setting], list[str]]:
    """Return the settings of `KDIAG_...` variables, and warnings about misspelt ones.

    `KDIAG_SASL_USERNAME` is `sasl.username`. Variables that resemble no setting are ignored: they
    may belong to another program.
    """
    found: list[Setting] = []
    warnings = []
    for variable, value in environment.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable in _OUR_VARIABLES or not value:
            continue
        name = variable.removeprefix(ENVIRONMENT_PREFIX).lower().replace("_", ".")
        if name in USED or name in TRANSLATIONS:
            found.extend(settings_of(name, value, variable))
        elif not is_accepted(name) and (near := near_names(name)):
            meant = " or ".join(map(variable_of, near))
            warnings.append(f"unknown setting {variable}; did you mean {meant}?")
    return found, warnings


def variable_of(key: str) -> str:
    """Return the environment variable of a setting."""
    return ENVIRONMENT_PREFIX + key.upper().replace(".", "_")


def settings_of_others(environment: Mapping[str, str]) -> list[Setting]:
    """Return the bootstrap servers in variables of other programs."""
    for variable in BROKER_VARIABLES:
        if value := environment.get(variable):
            return [Setting("bootstrap.servers", value, variable, variable)]
    return []


def read_settings_file(file: str | Path, *, is_kcat: bool = False) -> list[Setting]:
    """Return the settings in a file of Java's or of librdkafka's form.

    Args:
        file: its path; a name that ends in `.conf` is of librdkafka's form.
        is_kcat: whether it is of that form whatever its name.

    Raises:
        ConfigError: if it cannot be read.
    """
    if is_kcat or str(file).endswith(".conf"):
        return _read_kcat(read_small_file(file), str(file))
    return read_java_properties(read_small_file(file), str(file))


def read_small_file(file: str | Path, key: str = "", origin: str = "") -> bytes:
    """Return the bytes of a file written by hand; `~` is the home folder.

    Args:
        file: its path.
        key: the setting that names it.
        origin: where that was given.

    Raises:
        ConfigError: if it cannot be opened, or is too large.
    """
    try:
        with Path(file).expanduser().open("rb") as stream:
            data = stream.read(_MAX_FILE_BYTES + 1)
    except (OSError, RuntimeError, ValueError) as error:  # no such file, no such user, a null byte
        why = getattr(error, "strerror", None) or str(error)
        raise ConfigError(key, origin or str(file), f"{file}: {why}" if origin else why) from None
    if len(data) > _MAX_FILE_BYTES:
        raise ConfigError(
            key, origin or str(file), f"{file} is larger than {_MAX_FILE_BYTES} bytes"
        )
    return data


def read_java_properties(data: bytes, file: str) -> list[Setting]:
    """Return the settings in a file of Java's form, which is Latin-1.

    Raises:
        ConfigError: if it has an invalid escape.
    """
    import javaproperties  # noqa: PLC0415 - 31 ms, such files only

    found: list[Setting] = []
    number = 1
    elements = javaproperties.parse(data)
    while True:
        try:
            element = next(elements, None)
        except javaproperties.InvalidUEscapeError:
            why = "expected four hexadecimal digits after \\u"
            raise ConfigError("", f"{file}:{number}", why) from None
        if element is None:
            return found
        if isinstance(element, javaproperties.KeyValue):
            found.extend(settings_of(element.key, element.value, f"{file}:{number}"))
        number += _line_count(element.source)


def _line_count(source: str) -> int:
    return source.count("\n") + source.replace("\r\n", "").count("\r")


def _read_kcat(data: bytes, file: str) -> list[Setting]:
    found: list[Setting] = []
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise ConfigError("", f"{file}:{number}", "expected UTF-8") from None
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        text = text.replace("\\:", ":").replace("\\=", "=")
        name, equals, value = text.partition("=")
        name = name.rstrip()
        if not equals or not name:
            raise ConfigError("", f"{file}:{number}", "expected key=value")
        found.extend(settings_of(name, value.lstrip(), f"{file}:{number}"))
    return found
