"""`kdiag config`: the settings in force, and the origin of each."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from kdiag.client.config.load import Settings, read_settings, typed_config
from kdiag.client.config.sources import Setting
from kdiag.errors import ConfigError
from kdiag_cli.commands.config.profile_import import import_profiles
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.live.run import run_live
from kdiag_cli.options.help_page import CommandPage, GroupPage
from kdiag_cli.options.live import (
    AllowPrograms,
    AsVersion,
    BootstrapServers,
    ConfigFile,
    LiveOptions,
    PasswordFile,
    Profile,
    Properties,
    config_sources,
)
from kdiag_cli.options.results import Wide
from kdiag_cli.output.result import ResultFormat, print_document
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import Output, say

EXAMPLES = """\b
Examples:
  kdiag config show
  kdiag config show --origin
  kdiag config show --config client.properties --origin
  kdiag config show --profile prod -X client.id=me -o json
  kdiag config show --defaults

\b
What counts, the first that says something: options, -X, KDIAG_... variables (as
KDIAG_BOOTSTRAP_SERVERS), the profile, the file, KAFKA_BOOTSTRAP_SERVERS or BROKERS, Kafka's
defaults. The file is --config, or KDIAG_CONFIG, or the profile's; with no file and no profile,
KCAT_CONFIG. A file starts no program, and reads no other file or variable, without
--allow-programs; a profile may, if only you can write its file.

\b
Exit codes: 0 done, 2 a setting is wrong or a file cannot be read.
"""

_IMPORT_EXAMPLES = """\b
Examples:
  kdiag config import ~/.config/kcl/config.toml
  kdiag config import ~/.config/rpk/rpk.yaml --profile prod
  kdiag config import ~/.config/kafkactl/config.yml --write
  kdiag config import client.properties --profile test --write

\b
The name of the file says of which program it is: .toml of kcl, .yaml or .yml of rpk or kafkactl,
.properties of Java's clients, anything else of kcat. What is printed has no secrets.

\b
Exit codes: 0 done, 2 the file cannot be read, or a profile is there already.
"""

app = typer.Typer(
    cls=GroupPage,
    help="Show the settings in force, and where each comes from.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command(cls=CommandPage, epilog=EXAMPLES)
def show(  # noqa: PLR0913 - a parameter for each option
    *,
    origin: Annotated[
        bool, typer.Option("--origin", help="Show the origin of each setting.")
    ] = False,
    defaults: Annotated[
        bool, typer.Option("--defaults", help="Show also the settings that have their default.")
    ] = False,
    bootstrap_server: BootstrapServers = None,
    properties: Properties = None,
    config: ConfigFile = None,
    profile: Profile = None,
    password_file: PasswordFile = None,
    allow_programs: AllowPrograms = False,
    as_version: AsVersion = None,
    output: Annotated[
        ResultFormat,
        typer.Option("--output", "-o", help="A table for people, or JSON for programs."),
    ] = ResultFormat.TABLE,
    wide: Wide = False,
) -> None:
    """Show the settings that live commands would use with these options.

    Passwords, keys, JAAS configurations, and the values of settings that neither Kafka nor
    librdkafka knows are redacted. Likely mistakes are reported on stderr.
    """
    options = LiveOptions(
        bootstrap_server,
        properties,
        config,
        profile,
        password_file,
        as_version=as_version,
        allow_programs=allow_programs,
    )

    def work() -> ExitCode:
        settings = read_settings(config_sources(options))
        screen = Output(sys.stdout, is_wide=wide)
        return _print(screen, settings, output, has_origin=origin, has_defaults=defaults)

    raise typer.Exit(run_live(work))


@app.command("import", cls=CommandPage, epilog=_IMPORT_EXAMPLES)
def import_file(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The configuration of another program.")
    ],
    *,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only this profile, or the name of the only one."),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Add them to ~/.config/kdiag/config.toml.")
    ] = False,
    allow_programs: Annotated[
        bool,
        typer.Option(
            "--allow-programs",
            help="Import settings, too, that start programs or read other files and variables.",
        ),
    ] = False,
) -> None:
    """Make profiles of the configuration of kcl, rpk, kafkactl, kcat or Java's clients."""
    raise typer.Exit(
        run_live(
            lambda: import_profiles(file, profile, writes=write, allows_programs=allow_programs)
        )
    )


def _print(
    output: Output, settings: Settings, form: ResultFormat, *, has_origin: bool, has_defaults: bool
) -> ExitCode:
    """Print settings, also those of a configuration that cannot be used."""
    problem: ConfigError | None = None
    warnings = tuple(settings.warnings)
    try:
        warnings = typed_config(settings).warnings
    except ConfigError as error:
        problem = error
    shown = settings.values.in_force(with_defaults=has_defaults)
    if form is ResultFormat.JSON:
        data = [_document(each) for each in shown]
        print_document(output, "config show", data, warnings=warnings)
    else:
        headers = ("KEY", "VALUE", "ORIGIN") if has_origin else ("KEY", "VALUE")
        print_table(output, headers, [_row(each)[: len(headers)] for each in shown])
        say(*warnings)
        if not shown and output.is_terminal:
            say("nothing is set: all settings have their defaults, which --defaults shows")
    output.flush()
    if problem is not None:
        raise problem
    return ExitCode.DONE


def _row(setting: Setting) -> tuple[str, str, str]:
    given_as = "" if setting.name in {setting.key, setting.origin} else f" as {setting.name}"
    return setting.key, setting.shown, f"{setting.origin}{given_as}"


def _document(setting: Setting) -> dict[str, Any]:
    return {
        "key": setting.key,
        "value": setting.shown,
        "origin": setting.origin,
        "name": setting.name,
    }
