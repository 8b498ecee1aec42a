"""`kdiag tail`: its arguments and options."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kdiag_cli.commands.tail.value_format import ValueFormat
from kdiag_cli.options.command_line import given_options
from kdiag_cli.options.completion import complete_groups, complete_topics
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.options.live_command import NO_OPTIONS, live_command
from kdiag_cli.options.quantities import moment_ns

EXAMPLES = """\b
Examples:
  kdiag tail -b localhost:9092 orders
  kdiag tail -b localhost:9092 orders --from-beginning -e
  kdiag tail -b localhost:9092 orders -o -20 -e
  kdiag tail -b localhost:9092 'orders*' 'payments:0,3,5-7' -o @-1h
  kdiag tail -b localhost:9092 orders -o @2026-01-15 --until 2026-01-16 -J
  kdiag tail -b localhost:9092 orders -o beginning -n 3 -f '%t[%p]@%o %T %k %s\\n'
  kdiag tail -b localhost:9092 orders --grep 'refused|timed out' --header region=eu
  kdiag tail -b localhost:9092 orders -e -J | jq -r '.value // .value_b64'
  kdiag tail -b localhost:9092 orders -e --output parquet --out orders.parquet
  kdiag tail -b localhost:9092 orders -e --resume-file orders.offsets
  kdiag tail -b localhost:9092 __consumer_offsets -e
  kdiag tail -b localhost:9092 orders -g billing

\b
Without -o the last ten records come first, with -e or --until all of them. It waits for more
unless -e, -n or --until end it; without -g it joins no group and commits nothing. Records of
transactions are shown once these are committed (--isolation). `kdiag help tail` has offsets, format
strings and groups.

\b
Exit codes: 0 done, 2 wrong usage, 3 cannot connect, 4 authentication, 5 authorization, 6 timeout,
7 not supported by the brokers, 8 partitions or batches could not be read, 130 interrupted.
"""


class TailOutput(StrEnum):
    """How records are written."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    PARQUET = "parquet"


class Isolation(StrEnum):
    """Which records of transactions are read; the names are those of `isolation.level`."""

    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


class GroupProtocol(StrEnum):
    """By which protocol a group is joined; the names are those of `group.protocol`."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


@live_command
def tail(  # noqa: PLR0913 - a parameter for each option
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TOPIC]...",
            help="A name, a pattern, or topic:0,3,5-7. Repeatable.",
            autocompletion=complete_topics,
        ),
    ] = None,
    *,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC",
            help="The same as TOPIC. Repeatable.",
            autocompletion=complete_topics,
        ),
    ] = None,
    partitions: Annotated[
        str | None,
        typer.Option("--partition", "-p", metavar="0,3,5-7", help="Only these partitions."),
    ] = None,
    offsets: Annotated[
        list[str] | None,
        typer.Option(
            "--offset",
            "-o",
            metavar="OFFSET",
            help="Where to start: beginning, end, 42, +42, -42 (the last 42 of all), @-1h,"
            " @2026-01-15; 0:100, s@TIME, e@TIME. Repeatable.",
        ),
    ] = None,
    is_from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="The same as -o beginning.")
    ] = False,
    until: Annotated[
        int | None,
        typer.Option(
            metavar="WHEN",
            help="Stop at the first record with this timestamp or a later one.",
            parser=moment_ns,
        ),
    ] = None,
    is_to_end: Annotated[
        bool, typer.Option("--exit", "-e", help="Stop at the end that the topic has at the start.")
    ] = False,
    is_wait: Annotated[
        bool, typer.Option("--wait", help="Wait for topics that do not exist yet.")
    ] = False,
    is_follow: Annotated[
        bool, typer.Option("--follow", "-F", help="Wait for more: the default.")
    ] = False,
    count: Annotated[
        int | None,
        typer.Option(
            "--count", "-n", "-c", "--max-messages", min=1, help="Stop after this many records."
        ),
    ] = None,
    grep: Annotated[
        str | None,
        typer.Option(metavar="REGEX", help="Only records with a match in the key or the value."),
    ] = None,
    keys: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="KEY", help="Only records with this key. Repeatable: any."),
    ] = None,
    headers: Annotated[
        list[str] | None,
        typer.Option(
            "--header", metavar="K=V", help="Only records with this header. Repeatable: all."
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", "-f", metavar="FORMAT", help="Such as '%t[%p]@%o %k %s\\n'."),
    ] = None,
    output: Annotated[
        TailOutput, typer.Option("--output", help="Lines of text or JSON, or a Parquet file.")
    ] = TailOutput.TEXT,
    is_json: Annotated[
        bool, typer.Option("--json", "-J", help="The same as --output json.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The file of --output parquet.")
    ] = None,
    key_format: Annotated[
        ValueFormat, typer.Option("--key-format", help="How keys are written.")
    ] = ValueFormat.AUTO,
    value_format: Annotated[
        ValueFormat, typer.Option("--value-format", help="How values are written.")
    ] = ValueFormat.AUTO,
    isolation: Annotated[
        Isolation, typer.Option("--isolation", help="Which records of transactions are read.")
    ] = Isolation.READ_COMMITTED,
    is_showing_aborted: Annotated[
        bool, typer.Option("--show-aborted", help="Show aborted records as well, marked.")
    ] = False,
    is_showing_control: Annotated[
        bool, typer.Option("--show-control", help="Show control records as well.")
    ] = False,
    rack: Annotated[
        str, typer.Option("--rack", metavar="RACK", help="Fetch from replicas in this rack.")
    ] = "",
    is_skipping_damaged: Annotated[
        bool,
        typer.Option(
            "--skip-damaged",
            help="Continue behind batches that cannot be read, and let commits and resume"
            " positions pass them.",
        ),
    ] = False,
    resume_file: Annotated[
        Path | None,
        typer.Option(
            "--resume-file",
            metavar="FILE",
            help="Resume from the offsets in FILE, and save the new offsets there.",
        ),
    ] = None,
    group: Annotated[
        str,
        typer.Option(
            "--group",
            "-g",
            "-G",
            metavar="GROUP",
            help="Join this group, and read the partitions that it assigns.",
            autocompletion=complete_groups,
        ),
    ] = "",
    protocol: Annotated[
        GroupProtocol | None,
        typer.Option(
            "--protocol", help="Of --group: how to join; by default as the group's type is."
        ),
    ] = None,
    assignor: Annotated[
        str | None,
        typer.Option(
            "--assignor",
            metavar="NAME",
            help="Of --group: offer this one alone; by default what its members have. Of the"
            " consumer protocol the broker's: uniform, range.",
        ),
    ] = None,
    instance_id: Annotated[
        str | None,
        typer.Option("--instance-id", metavar="ID", help="Of --group: join as a static member."),
    ] = None,
    is_committing: Annotated[
        bool, typer.Option("--commit", help="Of --group: commit what was printed.")
    ] = False,
    is_sure: Annotated[
        bool, typer.Option("--yes", "-y", help="Of --group: join without asking.")
    ] = False,
    wide: Annotated[
        bool, typer.Option("--wide", "-w", help="Do not cut lines to the terminal's width.")
    ] = False,
    is_quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Do not report what happens to partitions.")
    ] = False,
    live: LiveOptions = NO_OPTIONS,
) -> None:
    """Print the records of topics from any offset or time."""
    from kdiag_cli.commands.tail import options, resume, run  # noqa: PLC0415 - 95 ms that --help spares

    chosen = options.TailOptions(
        topics=[*(names or []), *(topic or [])],
        partitions=partitions,
        offsets=[*(offsets or []), *(["beginning"] if is_from_beginning else [])],
        until_ns=until,
        stops_at_end=is_to_end,
        waits=is_wait,
        follows=is_follow,
        limit=count,
        is_committed_only=isolation is Isolation.READ_COMMITTED,
        rack=rack,
        skips_damaged=is_skipping_damaged,
        resume_file=resume_file,
        membership=options.MembershipOptions(
            group,
            None if protocol is None else protocol.value,
            assignor,
            instance_id,
            commits=is_committing,
            is_sure=is_sure,
        ),
        filters=options.FilterOptions(
            grep,
            keys or (),
            headers or (),
            shows_aborted=is_showing_aborted,
            shows_control=is_showing_control,
        ),
        printing=options.PrintOptions(
            TailOutput.JSON.value if is_json else output.value,
            out,
            form,
            key_format,
            value_format,
            is_wide=wide,
            is_quiet=is_quiet,
        ),
        repeated=given_options(context, resume.REPLACED),
    )
    options.check(chosen)
    raise typer.Exit(run.run(chosen, live))
