"""`kdiag api-versions`: its arguments and options."""

from typing import Annotated

import typer

from kdiag.findings.rule import Severity
from kdiag.wire.catalog import Api
from kdiag_cli.options.apis import read_api
from kdiag_cli.options.completion import complete_apis, complete_destinations
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.options.live_command import NO_OPTIONS, live_command
from kdiag_cli.options.results import FailOn, NoHeaders

EXAMPLES = """\b
Examples:
  kdiag api-versions -b localhost:9092
  kdiag api-versions -b localhost:9092 --wide
  kdiag api-versions -b localhost:9092 --api Produce --api fetch
  kdiag api-versions -b localhost:9092 --features
  kdiag api-versions -b localhost:9092 --as-version 2.8
  kdiag api-versions -b localhost:9093 --to bootstrap
  kdiag api-versions -b localhost:9092 -o json | jq '.data[] | select(.mixed)'

\b
Where all brokers agree there is one column for them; where they do not, as during an upgrade, a
column for each. USABLE is what every broker and kdiag speak; with --as-version, what they share
with the clients of that Kafka.

\b
Exit codes: 0 done, 1 a finding (--fail-on), 2 wrong usage, 3 cannot connect, 4 authentication,
6 timeout, 8 some brokers did not answer.
"""


@live_command
def api_versions(  # noqa: PLR0913 - a parameter for each option
    *,
    apis: Annotated[
        list[Api] | None,
        typer.Option(
            "--api",
            "-a",
            metavar="NAME",
            help="Only this API. Repeatable.",
            parser=read_api,
            autocompletion=complete_apis,
        ),
    ] = None,
    features: Annotated[
        bool, typer.Option("--features", help="Show features instead: supported and finalized.")
    ] = False,
    wide: Annotated[
        bool,
        typer.Option("--wide", "-w", help="Show all columns, one for each broker in any case."),
    ] = False,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="WHERE",
            help="Whom to ask, as kdiag request does: all, 2, bootstrap.",
            autocompletion=complete_destinations,
        ),
    ] = "all",
    fail_on: FailOn = Severity.ERROR,
    no_headers: NoHeaders = False,
    live: LiveOptions = NO_OPTIONS,
) -> None:
    """Compare which API versions the brokers support."""
    from kdiag_cli.commands.request.api_versions import run  # noqa: PLC0415 - 60 ms that --help spares

    options = run.ApiVersionsOptions(
        api_keys=frozenset(each.key for each in apis or ()),
        is_features=features,
        is_wide=wide,
        to=to,
        fail_on=fail_on,
        has_headers=not no_headers,
    )
    raise typer.Exit(run.run(options, live))
