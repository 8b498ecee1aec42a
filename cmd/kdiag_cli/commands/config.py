"""`kdiag config`: the settings in force, and the origin of each."""

import sys
from typing import Annotated, Any

import typer

from kdiag.client.config.load import Settings, read_settings, typed_config
from kdiag.client.config.sources import Setting
from kdiag.errors import ConfigError
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.live.run import run_live
from kdiag_cli.options.live import (
    BootstrapServers,
    ConfigFile,
    LiveOptions,
    OutputFormat,
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
KCAT_CONFIG.

\b
Exit codes: 0 done, 2 a setting is wrong or a file cannot be read.
"""

app = typer.Typer(
    help="Show the settings of the client and where each comes from.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _config() -> None:
    """Make `show` a command of its own, though it is the only one."""


@app.command(epilog=EXAMPLES)
def show(  # noqa: PLR0913 - a parameter for each option
    *,
    origin: Annotated[
        bool, typer.Option("--origin", help="Show the origin of each setting.")
    ] = False,
    defaults: Annotated[
        bool, typer.Option("--defaults", help="Show also the settings that nobody gave.")
    ] = False,
    bootstrap_server: BootstrapServers = None,
    properties: Properties = None,
    config: ConfigFile = None,
    profile: Profile = None,
    password_file: PasswordFile = None,
    output: OutputFormat = ResultFormat.TABLE,
    wide: Wide = False,
) -> None:
    """Show the settings that live commands would use with these options.

    Passwords, keys and JAAS configurations are redacted. Likely mistakes are reported
    on stderr.
    """
    options = LiveOptions(bootstrap_server, properties, config, profile, password_file)

    def work() -> ExitCode:
        settings = read_settings(config_sources(options))
        screen = Output(sys.stdout, is_wide=wide)
        return _print(screen, settings, output, has_origin=origin, has_defaults=defaults)

    raise typer.Exit(run_live(work))


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
