"""`kdiag check`: its arguments and options."""

from typing import Annotated

import typer

from kdiag.findings.rule import Severity
from kdiag_cli.options.completion import complete_groups, complete_topics
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.options.live_command import NO_OPTIONS, live_command
from kdiag_cli.options.results import FailOn, NoHeaders

EXAMPLES = """\b
Examples:
  kdiag check -b localhost:9092
  kdiag check --config client.properties -t orders -g billing
  kdiag check --config client.properties -o json | jq '.findings[]'
  kdiag check -b localhost:9092 --quick
  kdiag check -b localhost:9092 --quick --nagios

\b
Stages: DNS, TCP, TLS, SASL, ApiVersions, Metadata, every advertised listener, ACLs, partitions,
the coordinator of a group. --quick ends with the first broker that answers Metadata. Nothing is
written; -g NAME makes the brokers create __consumer_offsets if they have none, as any client would.

\b
Exit codes: 0 done, 1 a finding (--fail-on), 2 wrong usage, 3 cannot connect (a broker's advertised
listener counts), 4 authentication, 5 authorization, 6 timeout, 7 not supported, 8 partial.
With --nagios: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.
"""


@live_command
def check(  # noqa: PLR0913 - a parameter for each option
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC",
            help="Check this topic. Repeatable.",
            autocompletion=complete_topics,
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            "-g",
            "-G",
            metavar="GROUP",
            help="Check this group. Repeatable.",
            autocompletion=complete_groups,
        ),
    ] = None,
    *,
    is_quick: Annotated[
        bool, typer.Option("--quick", help="For health checks: end with the first answer.")
    ] = False,
    is_nagios: Annotated[
        bool, typer.Option("--nagios", help="Print one status line; exit 0, 1, 2 or 3.")
    ] = False,
    fail_on: FailOn = Severity.ERROR,
    no_headers: NoHeaders = False,
    live: LiveOptions = NO_OPTIONS,
) -> None:
    """Test the connection to a cluster layer by layer."""
    from kdiag_cli.commands.check import options, run  # noqa: PLC0415 - 75 ms that --help spares

    chosen = options.CheckOptions(
        topics=topic or (),
        groups=group or (),
        is_quick=is_quick,
        is_nagios=is_nagios,
        fail_on=fail_on,
        has_headers=not no_headers,
    )
    raise typer.Exit(run.run(chosen, live))
