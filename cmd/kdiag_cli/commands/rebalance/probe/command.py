"""`kdiag rebalance probe`: its arguments and options."""

from typing import Annotated, Final

import typer

from kdiag_cli.commands.rebalance.probe import options
from kdiag_cli.options.completion import complete_groups
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.options.live_command import NO_OPTIONS, live_command
from kdiag_cli.options.results import NoHeaders

PROBE_EXAMPLES: Final = """\b
Examples:
  kdiag rebalance probe -b localhost:9092
  kdiag rebalance probe -b localhost:9092 --protocol classic --assignor range --per-member
  kdiag rebalance probe -b localhost:9092 --cause member_failed --static
  kdiag rebalance probe -b localhost:9092 --protocol consumer --members 8 --partitions 24
  kdiag rebalance probe -b localhost:9092 -o json | jq '.data[].steps[].longest_unowned_ms'

\b
It joins members of its own to groups of its own on a topic of its own, and removes all of them at
its end, however that comes. One group after another: eager (range), cooperative
(cooperative-sticky), and KIP-848 (uniform) where the brokers have it. In each, a member joins, one
crashes, one leaves, partitions are added, and one unsubscribes. What users feel is how long a
partition had no owner. A crash is noticed when the session times out: unless session.timeout.ms is
set (-X), it is the shortest that the broker allows; the result says how much of the time that is.
With KIP-848 it is the broker's group.consumer.session.timeout.ms, which is 45 s by default.

\b
With --group, members join a group that is there, which rebalances with each cause: --i-know. They
read kdiag's own topic there, and none of the group's. See `kdiag help rebalance`.

\b
Exit codes: 0 done, 2 wrong usage, 3 cannot connect, 4 authentication, 5 authorization, 6 timeout,
7 not supported by the brokers, 8 partial (not all could be measured, or something could not be
removed), 130 interrupted (what was measured is printed).
"""


@live_command
def probe(  # noqa: PLR0913 - a parameter for each option
    *,
    members: Annotated[
        int,
        typer.Option(
            "--members", metavar="N", min=3, max=options.MOST_MEMBERS, help="How many begin."
        ),
    ] = 4,
    partitions: Annotated[
        int | None,
        typer.Option(
            "--partitions",
            metavar="N",
            min=1,
            max=options.MOST_PARTITIONS,
            help="Of the topic; by default three for each member.",
        ),
    ] = None,
    protocol: Annotated[
        list[options.ProbedProtocol] | None,
        typer.Option(help="Only groups of this one. Repeatable."),
    ] = None,
    assignor: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Compare these instead. Repeatable."),
    ] = None,
    is_static: Annotated[
        bool, typer.Option("--static", help="Members have instance ids, and leave nothing.")
    ] = False,
    cause: Annotated[
        list[options.ProvokedCause] | None,
        typer.Option(help="Provoke this one alone. Repeatable."),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            "-g",
            "-G",
            metavar="NAME",
            help="Join this group, and have it rebalance; needs --i-know.",
            autocompletion=complete_groups,
        ),
    ] = None,
    is_known: Annotated[
        bool, typer.Option("--i-know", help="The members of --group may be disturbed.")
    ] = False,
    per_member: Annotated[
        bool, typer.Option("--per-member", help="Show the phases of each member.")
    ] = False,
    no_headers: NoHeaders = False,
    live: LiveOptions = NO_OPTIONS,
) -> None:
    """Provoke rebalances in a group of its own, and measure who waits for how long."""
    options.check_group(group, protocol or (), assignor or (), is_known=is_known)
    chosen = options.ProbeOptions(
        member_count=members,
        partition_count=options.read_partitions(partitions, members),
        protocols=protocol or (),
        assignors=assignor or (),
        is_static=is_static,
        causes=options.read_causes(cause or ()),
        group=group,
        shows_members=per_member,
        has_headers=not no_headers,
    )
    from kdiag_cli.commands.rebalance.probe import run  # noqa: PLC0415 - 90 ms, not for --help

    raise typer.Exit(run.run(chosen, live))
