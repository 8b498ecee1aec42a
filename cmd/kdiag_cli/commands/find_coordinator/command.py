"""`kdiag find-coordinator`: its arguments and options."""

from typing import Annotated

import typer

from kdiag.findings.rule import Severity
from kdiag_cli.options.completion import complete_groups
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.options.live_command import NO_OPTIONS, live_command
from kdiag_cli.options.quantities import OptionDefault, positive_ns
from kdiag_cli.options.results import FailOn, NoHeaders

EXAMPLES = """\b
Examples:
  kdiag find-coordinator -b localhost:9092 orders
  kdiag find-coordinator -b localhost:9092 orders payments -o json
  kdiag find-coordinator -b localhost:9092 --txn order-writer-1
  kdiag find-coordinator -b localhost:9092 --share fulfilment
  kdiag find-coordinator -b localhost:9092 orders --watch
  kdiag find-coordinator -b localhost:9092 --moves
  kcat -b localhost:9092 -L -J | jq -r '.groups[]?' | kdiag find-coordinator -b localhost:9092 -

\b
The name of a group that does not exist yet is fine: its coordinator is settled already. The first
question of its kind makes the brokers create the internal topic, as any client's would.

\b
Exit codes: 0 done, 1 a finding (--fail-on), 2 wrong usage, 3 cannot connect, 4 authentication,
5 authorization, 6 timeout, 7 not supported by the brokers, 8 some brokers did not answer.
"""


@live_command
def find_coordinator(  # noqa: PLR0913 - a parameter for each option
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Groups or other names; - reads them from stdin.",
            autocompletion=complete_groups,
        ),
    ] = None,
    *,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            "-g",
            "-G",
            metavar="NAME",
            help="The same as NAME. Repeatable.",
            autocompletion=complete_groups,
        ),
    ] = None,
    txn: Annotated[
        bool, typer.Option("--txn", help="The names are transactional ids, not groups.")
    ] = False,
    share: Annotated[
        bool,
        typer.Option(
            "--share", help="The names are share groups, or GROUP:TOPIC:PARTITION of one."
        ),
    ] = False,
    is_watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on asking, and print what changes.")
    ] = False,
    interval: Annotated[
        int,
        typer.Option(metavar="TIME", help="With --watch: how often to ask.", parser=positive_ns),
    ] = OptionDefault(positive_ns, "1s"),
    count: Annotated[
        int | None,
        typer.Option("--count", "-n", min=1, help="With --watch: end after so many looks."),
    ] = None,
    is_moves: Annotated[
        bool, typer.Option("--moves", help="Show how all groups spread over the brokers instead.")
    ] = False,
    fail_on: FailOn = Severity.ERROR,
    no_headers: NoHeaders = False,
    wide: Annotated[
        bool, typer.Option("--wide", help="Show all columns of a table, however narrow it gets.")
    ] = False,
    live: LiveOptions = NO_OPTIONS,
) -> None:
    """Show the coordinator of a group, and its health."""
    from kdiag_cli.commands.find_coordinator import options, run  # noqa: PLC0415 - 85 ms, not for --help

    chosen = options.FindCoordinatorOptions(
        names=[*(names or []), *(group or [])],
        is_transactional=txn,
        is_share=share,
        is_watching=is_watch,
        interval_ns=interval,
        looks=count,
        shows_moves=is_moves,
        fail_on=fail_on,
        has_headers=not no_headers,
    )
    options.check(chosen)
    raise typer.Exit(run.run(chosen, live._replace(is_wide=wide)))
