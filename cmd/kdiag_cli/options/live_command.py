"""Adds the options of all live commands to a command.

    @live_command
    def ping(node: int, *, live: LiveOptions = NO_OPTIONS) -> None: ...

makes a command that accepts `-b`, `--config` and the rest beside its own, and receives them as one.
"""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Final

from kdiag_cli.options.live import (
    AllowPrograms,
    AsVersion,
    BootstrapServers,
    ConfigFile,
    Debug,
    LiveFormat,
    LiveOptions,
    OutputFormat,
    PasswordFile,
    Profile,
    Properties,
    Trace,
    Write,
)
from kdiag_cli.options.quantities import UTC_TIMES, TimeZoneShown
from kdiag_cli.options.results import CsvSafe, Timeout, Wide, check_csv_safe
from kdiag_cli.output.document_forms import form_chosen

NO_OPTIONS: Final = LiveOptions()
"""The default of the parameter `live`."""

Command = Callable[..., None]

_LIVE: Final = "live"
_OUTPUT: Final = "output"
_CSV_SAFE: Final = "csv_safe"


def live_command(command: Command) -> Command:
    """Return a command that accepts the live options and hands them on as `live`.

    A command with an `output` or a `wide` of its own does not get the usual one, nor, where its
    forms are other ones, the usual `csv_safe`.
    """
    own = signature(command, eval_str=True)
    replaced = {*own.parameters} | ({_CSV_SAFE} if _OUTPUT in own.parameters else set())
    live = {
        name: each.replace(kind=Parameter.KEYWORD_ONLY)
        for name, each in signature(_live_options, eval_str=True).parameters.items()
        if name not in replaced
    }

    @wraps(command)
    def run(**values: Any) -> None:
        taken = {name: values.pop(name) for name in live}
        form = taken.get(_OUTPUT, LiveFormat.TABLE)
        is_csv_safe = taken.get(_CSV_SAFE, False)
        check_csv_safe(form, is_csv_safe=is_csv_safe)
        with form_chosen(form.document, is_csv_safe=is_csv_safe):
            command(**values, **{_LIVE: _live_options(**taken)})

    kept = [each for name, each in own.parameters.items() if name != _LIVE]
    run.__signature__ = own.replace(parameters=[*kept, *live.values()])  # type: ignore[attr-defined]
    return run


def _live_options(  # noqa: PLR0913 - a parameter for each option
    *,
    bootstrap_server: BootstrapServers = None,
    properties: Properties = None,
    config: ConfigFile = None,
    profile: Profile = None,
    password_file: PasswordFile = None,
    allow_programs: AllowPrograms = False,
    as_version: AsVersion = None,
    timeout: Timeout = None,
    trace: Trace = False,
    debug: Debug = False,
    write: Write = None,
    output: OutputFormat = LiveFormat.TABLE,
    csv_safe: CsvSafe = False,
    wide: Wide = False,
    time: TimeZoneShown = UTC_TIMES,
) -> LiveOptions:
    """Return the options as one value, but for those that `live_command` or the page acts on."""
    del csv_safe, time
    return LiveOptions(
        bootstrap_servers=bootstrap_server,
        properties=properties,
        config_file=config,
        profile=profile,
        password_file=password_file,
        allow_programs=allow_programs,
        as_version=as_version,
        timeout_ns=timeout,
        output=output.result,
        trace=trace,
        debug=debug,
        write=write,
        is_wide=wide or output is LiveFormat.WIDE,
    )
