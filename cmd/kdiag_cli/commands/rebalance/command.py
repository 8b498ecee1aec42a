"""`kdiag rebalance`: its commands, their arguments and options."""

from pathlib import Path
from typing import Annotated

import typer

from kdiag.findings.rule import Severity
from kdiag_cli.commands.rebalance.probe.command import PROBE_EXAMPLES, probe
from kdiag_cli.options.captures import (
    CaptureInputs,
    DecodeAs,
    EachInterface,
    KeyLogs,
    PacketFilter,
    Ports,
    SeparateNetworks,
    TopicIds,
    capture_inputs,
)
from kdiag_cli.options.completion import complete_groups
from kdiag_cli.options.help_page import CommandPage, GroupPage
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.options.live_command import NO_OPTIONS, live_command
from kdiag_cli.options.results import FailOn, NoHeaders, require_folder

EXAMPLES = """\b
Examples:
  kdiag rebalance explain traffic.pcap
  kdiag rebalance explain traffic.pcap --group orders --generation 7
  kdiag rebalance explain --broker-log server.log --broker-log server.log.2.gz
  kdiag rebalance explain traffic.pcap --broker-log logs --log-zone +02:00
  kdiag rebalance explain -b localhost:9092 orders
  kdiag rebalance explain traffic.pcap --html rebalances.html
  kdiag rebalance explain traffic.pcap -o json

\b
A cause is `certain` where a broker or a client said so in bytes, `likely` where it was worked out
from what was seen (a member fell silent for its session timeout), else `unknown`. A capture knows
who waited for whom; a broker's log knows every cause; with -b, what coordinators wrote about the
groups is read from __consumer_offsets, as far back as compaction has left it; kdiag joins no group.
See `kdiag help rebalance`.

\b
Exit codes: 0 done, 1 a finding (--fail-on), 2 wrong usage or an unreadable file, 3 cannot connect,
4 authentication, 5 authorization, 6 timeout, 8 partial (bytes are missing, malformed or the file is
cut; a partition had no leader), 130 interrupted.
"""

app = typer.Typer(
    cls=GroupPage,
    help="Explain rebalances: the cause and the slowest member.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("explain", cls=CommandPage, epilog=EXAMPLES)
@live_command
def explain(  # noqa: PLR0913 - a parameter for each option
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CAPTURE|GROUP]...",
            help="Captures, and folders of captures; with -b also groups, by default all.",
        ),
    ] = None,
    *,
    broker_log: Annotated[
        list[Path] | None,
        typer.Option(
            "--broker-log",
            metavar="FILE",
            help="A broker's server.log, also gzipped, or a folder of them. Repeatable.",
        ),
    ] = None,
    log_zone: Annotated[
        str,
        typer.Option(
            "--log-zone",
            metavar="ZONE",
            help="Zone of times in the brokers' logs: utc, +02:00, Europe/Berlin.",
        ),
    ] = "Z",
    group: Annotated[
        list[str] | None,
        typer.Option("--group", "-g", "-G", metavar="NAME", help="Only this group. Repeatable."),
    ] = None,
    generation: Annotated[
        int | None,
        typer.Option(
            "--generation",
            metavar="N",
            min=0,
            help="Show the rebalance that made this generation or epoch in full.",
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with pictures as well.")
    ] = None,
    fail_on: FailOn = Severity.ERROR,
    no_headers: NoHeaders = False,
    port: Ports = None,
    topic_ids: TopicIds = None,
    keylog: KeyLogs = None,
    separate_networks: SeparateNetworks = False,
    decode_as: DecodeAs = None,
    each_interface: EachInterface = False,
    live: LiveOptions = NO_OPTIONS,
) -> None:
    """Say why groups rebalanced, from captures, brokers' logs and brokers' records.

    Every change of generation or epoch with its cause, how sure that is, who waited for whom and
    what moved. Several sources are merged into one timeline, and contradictions between them are
    reported.
    """
    from kdiag_cli.commands.rebalance import options, run  # noqa: PLC0415 - 90 ms, not for --help

    named = options.read_names(names or (), live)
    if not (named.files or broker_log or named.is_cluster_asked):
        raise typer.BadParameter("give captures, --broker-log or -b", param_hint="CAPTURE...")
    require_folder(html, "--html")
    inputs = capture_inputs(
        named.files,
        port=port,
        keylog=keylog,
        topic_ids=topic_ids,
        separate_networks=separate_networks,
        decode_as=decode_as,
        each_interface=each_interface,
    )
    chosen = options.ExplainOptions(
        inputs=inputs,
        logs=broker_log or (),
        log_zone=options.read_zone(log_zone),
        groups=frozenset([*named.groups, *(group or ())]),
        is_cluster_asked=named.is_cluster_asked,
        generation=generation,
        html=html,
        fail_on=fail_on,
        has_headers=not no_headers,
    )
    raise typer.Exit(run.run(chosen, live))


WATCH_EXAMPLES = """\b
Examples:
  kdiag rebalance watch -b localhost:9092
  kdiag rebalance watch -b localhost:9092 orders payments
  kdiag rebalance watch -b localhost:9092 orders -o jsonl | jq -r .cause
  kdiag rebalance watch -b localhost:9092 orders --describe
  kdiag rebalance watch --live eth0 --filter 'tcp port 9092'

\b
It joins nothing. It reads what coordinators write to __consumer_offsets, which takes DESCRIBE and
READ on the topic; without them, or with --describe, it asks coordinators to describe their groups
(DESCRIBE on these), ten times a second while something happens. With --live it reads packets on a
broker or a client's machine, as root. A rebalance of a classic group is printed when its assignment
is there, an epoch of the others when all members have taken it up, or after 5 s. Ctrl-C ends it.
See `kdiag help rebalance` for what each of the three shows.

\b
Exit codes: 0 done (--count), 2 wrong usage, 3 cannot connect, 4 authentication, 5 authorization,
6 timeout, 8 partial (--live: bytes are missing or malformed), 130 interrupted.
"""


@app.command("watch", cls=CommandPage, epilog=WATCH_EXAMPLES)
@live_command
def watch(  # noqa: PLR0913 - as above
    groups: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GROUP]...", help="By default all.", autocompletion=complete_groups
        ),
    ] = None,
    *,
    most: Annotated[
        int | None, typer.Option("--count", "-n", min=1, help="End after so many rebalances.")
    ] = None,
    describe: Annotated[
        bool,
        typer.Option("--describe", help="Ask coordinators instead of reading __consumer_offsets."),
    ] = False,
    interface: Annotated[
        str | None,
        typer.Option("--live", metavar="IFACE", help="Read packets of this interface, or any."),
    ] = None,
    packet_filter: PacketFilter = None,
    port: Ports = None,
    keylog: KeyLogs = None,
    live: LiveOptions = NO_OPTIONS,
) -> None:
    """Print each rebalance as it happens: who caused it, and what moved."""
    from kdiag_cli.commands.rebalance import packets  # noqa: PLC0415 - 90 ms, not for --help
    from kdiag_cli.commands.rebalance import watch as watching  # noqa: PLC0415 - as above

    if interface is None:
        if packet_filter is not None or port or keylog:
            raise typer.BadParameter("is for --live IFACE", param_hint="--filter, --port, --keylog")
        chosen = watching.WatchOptions(groups or (), most, describe)
        raise typer.Exit(watching.run(chosen, live))
    if describe:
        raise typer.BadParameter("give one of the two", param_hint="--describe, --live")
    inputs = CaptureInputs(
        live=interface,
        filter=packet_filter,
        ports=frozenset(port or ()),
        keylogs=keylog or (),
    )
    raise typer.Exit(packets.run(inputs, groups or (), most, live.output))


app.command("probe", cls=CommandPage, epilog=PROBE_EXAMPLES)(probe)
