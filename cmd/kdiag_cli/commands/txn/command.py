"""`kdiag txn`: its commands, their arguments and options."""

from typing import Annotated

import typer

from kdiag.findings.rule import Severity
from kdiag_cli.options.completion import complete_topics
from kdiag_cli.options.help_page import CommandPage, DefaultGroup
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.options.live_command import NO_OPTIONS, live_command
from kdiag_cli.options.results import FailOn, NoHeaders

LIST = "list"
EXAMPLES = """\b
Examples:
  kdiag txn -b localhost:9092
  kdiag txn list -b localhost:9092 --topic orders
  kdiag txn -b localhost:9092 --hanging
  kdiag txn -b localhost:9092 --groups
  kdiag txn -b localhost:9092 -o json | jq -r '.data[] | select(.hanging) | .abort_command'

\b
A transaction hangs if its leader has it open and its coordinator has not: no broker will write the
marker that ends it. One that is open for its coordinator is alive, however old it is. It takes
DESCRIBE on the transactional ids, and READ on the topics for who writes. Brokers leave out what you
may not describe: kdiag says so, and ends with 8.

\b
Exit codes: 0 done, 1 a finding (--fail-on), such as one that hangs, 2 wrong usage, 3 cannot
connect, 4 authentication, 5 authorization, 6 timeout, 7 not supported by the brokers (before Kafka
3.0), 8 some brokers did not answer.
"""
ABORT_EXAMPLES = """\b
Examples:
  kdiag txn abort -b localhost:9092 -t orders -p 3 --start-offset 120
  kdiag txn abort -b localhost:9092 -t orders -p 3 --start-offset 120 --yes

\b
Without --yes it prints what it would send. A transaction that its coordinator has open is refused:
part of it would be lost, and the rest be kept. It takes ALTER on the cluster.

\b
Exit codes: 0 done, 1 there is no such transaction, or the leader refused, 2 wrong usage, or it is
alive; else as for kdiag txn.
"""


class ListByDefault(DefaultGroup):
    """Lists where no command is named."""

    default = LIST


app = typer.Typer(
    cls=ListByDefault,
    help="List open transactions, find hanging ones, abort them.",
    add_completion=False,
    rich_markup_mode=None,
)


@app.command(LIST, cls=CommandPage, epilog=EXAMPLES)
@live_command
def list_open(  # noqa: PLR0913 - a parameter for each option
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC",
            help="Look at this topic only. Repeatable.",
            autocompletion=complete_topics,
        ),
    ] = None,
    *,
    is_hanging: Annotated[
        bool, typer.Option("--hanging", help="Show those that hang, and no others.")
    ] = False,
    has_groups: Annotated[
        bool, typer.Option("--groups", help="Find the groups that have read up to one and wait.")
    ] = False,
    fail_on: FailOn = Severity.ERROR,
    no_headers: NoHeaders = False,
    live: LiveOptions = NO_OPTIONS,
) -> None:
    """Show every open transaction of the cluster, and whether it hangs."""
    from kdiag_cli.commands.txn import run  # noqa: PLC0415 - 85 ms, not for --help

    chosen = run.TxnOptions(
        topics=tuple(dict.fromkeys(topic or ())),
        is_hanging=is_hanging,
        has_groups=has_groups,
        fail_on=fail_on,
        has_headers=not no_headers,
    )
    raise typer.Exit(run.show(chosen, live))


@app.command("abort", cls=CommandPage, epilog=ABORT_EXAMPLES)
@live_command
def abort(
    topic: Annotated[
        str,
        typer.Option(
            "--topic", "-t", metavar="TOPIC", help="The topic.", autocompletion=complete_topics
        ),
    ],
    partition: Annotated[int, typer.Option("--partition", "-p", min=0, help="The partition.")],
    start_offset: Annotated[
        int, typer.Option("--start-offset", min=0, help="Where the transaction begins there.")
    ],
    *,
    is_sure: Annotated[bool, typer.Option("--yes", help="Send it.")] = False,
    live: LiveOptions = NO_OPTIONS,
) -> None:
    """End a transaction that hangs in a partition, as one that was aborted."""
    from kdiag_cli.commands.txn import run  # noqa: PLC0415 - 85 ms, not for --help

    place = run.AbortOptions(topic, partition, start_offset, is_sure=is_sure)
    raise typer.Exit(run.abort(place, live))
