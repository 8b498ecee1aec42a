"""`kdiag api-versions`: what it takes. The work is in `version_table`."""

from typing import Annotated

import typer

from kdiag.finding import Severity
from kdiag_cli import completion_values
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.live_document import LiveOutput
from kdiag_cli.live_options import (
    BootstrapServers,
    ConfigFile,
    LiveOptions,
    OutputFormat,
    PasswordFile,
    Profile,
    Properties,
    Timeout,
    Trace,
    Write,
    read_timeout_ns,
)
from kdiag_cli.live_run import run_live

EXAMPLES = """\b
Examples:
  kdiag api-versions -b localhost:9092
  kdiag api-versions -b localhost:9092 --wide
  kdiag api-versions -b localhost:9092 --api Produce --api fetch
  kdiag api-versions -b localhost:9092 --features
  kdiag api-versions -b localhost:9093 --to bootstrap
  kdiag api-versions -b localhost:9092 -o json | jq '.data[] | select(.mixed)'

\b
Where all brokers agree there is one column for them; where they do not, as during an upgrade, a
column for each. USABLE is what every broker and kdiag speak.

\b
Exit codes: 0 done, 1 a finding (--fail-on), 2 wrong usage, 3 cannot connect, 4 authentication,
6 timeout, 8 some brokers did not answer.
"""


def api_versions(  # noqa: PLR0913 - a parameter for each option
    *,
    apis: Annotated[
        list[str] | None,
        typer.Option(
            "--api",
            "-a",
            metavar="NAME",
            help="Only this API. Repeatable.",
            autocompletion=completion_values.apis,
        ),
    ] = None,
    features: Annotated[
        bool, typer.Option("--features", help="Show features instead: supported and finalized.")
    ] = False,
    wide: Annotated[
        bool, typer.Option("--wide", help="Show a column for each broker in any case.")
    ] = False,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="WHERE",
            help="Whom to ask, as kdiag request does: all, 2, bootstrap.",
            autocompletion=completion_values.destinations,
        ),
    ] = "all",
    fail_on: Annotated[
        Severity, typer.Option(help="The least severity of a finding that makes the exit code 1.")
    ] = Severity.ERROR,
    no_headers: Annotated[
        bool, typer.Option("--no-headers", help="Print no line of column names.")
    ] = False,
    bootstrap_server: BootstrapServers = None,
    properties: Properties = None,
    config: ConfigFile = None,
    profile: Profile = None,
    password_file: PasswordFile = None,
    timeout: Timeout = None,
    trace: Trace = False,
    write: Write = None,
    output: OutputFormat = LiveOutput.TABLE,
) -> None:
    """Show which versions of Kafka's APIs the brokers speak, side by side."""
    # `--help` must not load what only the run needs.
    from kdiag_cli import request_message, version_table  # noqa: PLC0415

    view = version_table.View(
        apis=frozenset(request_message.find_api(each).key for each in apis or ()),
        is_features=features,
        is_wide=wide,
        destination=request_message.read_destination(to),
        fail_on=fail_on,
        has_headers=not no_headers,
    )
    options = LiveOptions(
        bootstrap_server,
        properties,
        config,
        profile,
        password_file,
        read_timeout_ns(timeout),
        output,
        trace,
        write,
    )

    def work() -> ExitCode:
        return version_table.run(view, options)

    code = run_live(work, options.timeout_ns, command=version_table.COMMAND, output=output)
    raise typer.Exit(code)
