"""The options of all live commands, and the client configuration that they amount to.

`kdiag_cli.options.live_command` adds them to a command, which receives them as `LiveOptions`.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from kdiag.client.config.load import ClientConfig, ConfigSources, load_config
from kdiag.client.config.profiles import profile_names, profiles_file
from kdiag.client.config.sources import Setting
from kdiag.errors import ConfigError, KdiagError, NoPasswordError
from kdiag.wire.client_release import CLIENT_RELEASES
from kdiag_cli.output.document_forms import DocumentForm
from kdiag_cli.output.result import ResultFormat
from kdiag_cli.output.terminal import harmless

_SASL_KEY: Final = "sasl.password"


def complete_profiles() -> list[str]:
    """Return the names of profiles, for a shell to complete."""
    with suppress(KdiagError):
        return profile_names(profiles_file(os.environ))
    return []


def complete_releases() -> list[str]:
    """Return the releases of Kafka whose clients are known, for a shell to complete."""
    return list(CLIENT_RELEASES)


BootstrapServers = Annotated[
    list[str] | None,
    typer.Option(
        "--bootstrap-server",
        "--bootstrap-servers",
        "-b",
        "-B",
        metavar="HOST:PORT",
        help="Brokers to begin with: a list with commas, or repeated.",
    ),
]
Properties = Annotated[
    list[str] | None,
    typer.Option(
        "-X",
        "--command-property",
        metavar="KEY=VALUE",
        help="Any setting of Kafka's clients. Repeatable.",
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "--command-config",
        metavar="FILE",
        help="Settings: a client.properties of Java's, or a .conf of librdkafka's.",
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        "--context",
        metavar="NAME",
        help="One of your ~/.config/kdiag/config.toml.",
        autocompletion=complete_profiles,
    ),
]
PasswordFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A file with the SASL password, and nothing else."),
]
AllowPrograms = Annotated[
    bool,
    typer.Option(
        "--allow-programs",
        help="Allow the settings file to start programs (token.command), and to read other files "
        "and variables. The command line, KDIAG_ variables and your own profiles always may.",
    ),
]
AsVersion = Annotated[
    str | None,
    typer.Option(
        metavar="RELEASE",
        help="Speak as the clients of that Kafka would, such as 2.8: no newer version of an API.",
        autocompletion=complete_releases,
    ),
]


class LiveFormat(StrEnum):
    """How a live command writes its result; `wide` is a table with all its columns."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    JSONL = "jsonl"
    YAML = "yaml"
    CSV = "csv"
    TSV = "tsv"

    @property
    def result(self) -> ResultFormat:
        """Return whether it is a table or a document."""
        is_table = self in {LiveFormat.TABLE, LiveFormat.WIDE}
        return ResultFormat.TABLE if is_table else ResultFormat.JSON

    @property
    def document(self) -> DocumentForm:
        """Return the form of documents."""
        return DocumentForm(self.value) if self.result is ResultFormat.JSON else DocumentForm.JSON


OutputFormat = Annotated[
    LiveFormat,
    typer.Option("--output", "-o", metavar="FORM", help=f"One of {', '.join(LiveFormat)}."),
]
Trace = Annotated[
    bool,
    typer.Option(
        "--trace", "--verbose", "-v", help="Print each request with its response, as decode does."
    ),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        help="Log connections, requests and responses to stderr as they happen: names, sizes and "
        "times, never contents.",
    ),
]
Write = Annotated[
    Path | None,
    typer.Option(
        "--write", metavar="FILE.pcap", help="Write all requests and responses to a capture file."
    ),
]


class LiveOptions(NamedTuple):
    """The options of a live command.

    Attributes:
        bootstrap_servers: brokers, each maybe a list with commas.
        properties: `key=value` texts.
        config_file: the file with settings.
        profile: the name of the profile.
        password_file: the file with the password.
        timeout_ns: the time limit of the whole command; None for no limit.
        output: how the result is written.
        trace: whether to print each exchange.
        write: the capture file that keeps the exchanges.
        is_wide: whether tables show all their columns.
        debug: whether the log of the library is printed.
        as_version: the Kafka release as the clients of which it speaks.
        allow_programs: whether the settings file may start programs, and read other files.
    """

    bootstrap_servers: Sequence[str] | None = None
    properties: Sequence[str] | None = None
    config_file: Path | None = None
    profile: str | None = None
    password_file: Path | None = None
    timeout_ns: int | None = None
    output: ResultFormat = ResultFormat.TABLE
    trace: bool = False
    write: Path | None = None
    is_wide: bool = False
    debug: bool = False
    as_version: str | None = None
    allow_programs: bool = False


def client_config(
    options: LiveOptions, environment: Mapping[str, str] = os.environ, *, can_ask: bool = True
) -> ClientConfig:
    """Return the client configuration, from the options and from what they refer to.

    Who names a user and no password is asked for it, once, on a terminal.

    Args:
        options: as they were given.
        environment: variables by name.
        can_ask: whether somebody may be asked for a password.

    Raises:
        ConfigError: if a setting is wrong, a file cannot be read, or nobody names a broker.
    """
    sources = config_sources(options, environment)
    try:
        config = load_config(sources)
    except NoPasswordError as error:
        if not (can_ask and sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        password = Setting(_SASL_KEY, _typed_password(error.username), "typed", _SASL_KEY)
        config = load_config(sources._replace(options=[*sources.options, password]))
    if not config.bootstrap_servers:
        raise ConfigError(
            "bootstrap.servers",
            "not set",
            "give -b HOST:PORT, $KDIAG_BOOTSTRAP_SERVERS, --profile NAME or --config FILE",
        )
    return config


@cache
def _typed_password(username: str) -> str:
    """Return a password that is typed unseen."""
    from getpass import getpass  # noqa: PLC0415 - 2 ms, passwords only

    with suppress(EOFError):  # Ctrl-D: no password
        return getpass(f"Password of {harmless(username)}: ", sys.stderr)
    return ""


def config_sources(
    options: LiveOptions, environment: Mapping[str, str] = os.environ
) -> ConfigSources:
    """Return the sources of the configuration; the arguments are those of `client_config`."""
    return ConfigSources(
        options=_settings(options),
        properties=options.properties or (),
        file=str(options.config_file) if options.config_file else None,
        profile=options.profile,
        environment=environment,
        allows_programs=options.allow_programs,
    )


def _settings(options: LiveOptions) -> list[Setting]:
    """Return the settings that have an option of their own."""
    found = []
    if options.bootstrap_servers:
        option, servers = "--bootstrap-server", ",".join(options.bootstrap_servers)
        found.append(Setting("bootstrap.servers", servers, option, option))
    if options.password_file:
        option, file = "--password-file", str(options.password_file)
        found.append(Setting("sasl.password.file", file, option, option))
    if options.as_version is not None:
        option = "--as-version"
        found.append(Setting("as.version", options.as_version, option, option))
    return found


def check_topic(topic: str | None, *, reads_only: bool, writes_to_topic: bool) -> None:
    """Check `--topic`, `--read-only` and `--write-to-topic`.

    Raises:
        typer.BadParameter: if they contradict each other.
    """
    if writes_to_topic and topic is None:
        why = "name the topic that may be written to with --topic"
        raise typer.BadParameter(why, param_hint="'--write-to-topic'")
    if writes_to_topic and reads_only:
        why = "it contradicts --write-to-topic"
        raise typer.BadParameter(why, param_hint="'--read-only'")
