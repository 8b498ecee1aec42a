"""`kdiag groups`: its arguments and options."""

from enum import StrEnum
from typing import Annotated, Final

import typer

from kdiag.findings.rule import Severity
from kdiag_cli.options.completion import complete_groups
from kdiag_cli.options.live import LiveFormat, LiveOptions
from kdiag_cli.options.live_command import NO_OPTIONS, live_command
from kdiag_cli.options.quantities import OptionDefault, positive_ns
from kdiag_cli.options.results import CsvSafe, FailOn, NoHeaders, check_csv_safe
from kdiag_cli.output.document_forms import choose_csv_safety, choose_form

EXAMPLES = """\b
Examples:
  kdiag groups -b localhost:9092
  kdiag groups -b localhost:9092 orders
  kdiag groups -b localhost:9092 --match 'order*' --state empty
  kdiag groups -b localhost:9092 --lag-above 10000
  kdiag groups -b localhost:9092 orders --lag-above 5m --nagios
  kdiag groups -b localhost:9092 orders --commit-times
  kdiag groups -b localhost:9092 orders --watch
  kdiag groups -b localhost:9092 --stuck
  kdiag groups -b localhost:9092 -o prometheus > groups.prom
  kdiag groups -b localhost:9092 -o jsonl | jq -r 'select(.lag > 0) | .group'

\b
LAG is the records that readers of committed records have not read: up to the last stable offset,
from where the log begins. With ~ it is a difference of offsets, which counts transaction markers
and what compaction removed; with >= some partitions are not known, and ? means that none is. AGE is
how old the record is that the group reads next.

\b
Exit codes: 0 done, 1 a finding (--fail-on), --lag-above or --stuck found some, 2 wrong usage,
3 cannot connect, 4 authentication, 5 authorization, 6 timeout, 7 not supported, 8 some brokers did
not answer, or refused. With --nagios: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.
"""


TYPES: Final = ("classic", "consumer", "share", "streams")
_STATES: Final = (
    "Stable",
    "Empty",
    "PreparingRebalance",
    "CompletingRebalance",
    "Assigning",
    "Reconciling",
    "NotReady",
    "Dead",
)


def complete_types() -> list[str]:
    """Return the types of groups."""
    return list(TYPES)


def complete_states() -> list[str]:
    """Return the states of groups of all types."""
    return list(_STATES)


class GroupsFormat(StrEnum):
    """How groups are written: as other live commands do, or as metrics."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    JSONL = "jsonl"
    YAML = "yaml"
    CSV = "csv"
    TSV = "tsv"
    PROMETHEUS = "prometheus"


@live_command
def groups(  # noqa: PLR0913 - a parameter for each option
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GROUP]...",
            help="Show all about these groups; none for all groups in one table.",
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
            metavar="GROUP",
            help="The same as GROUP. Repeatable.",
            autocompletion=complete_groups,
        ),
    ] = None,
    match: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Only groups whose name matches: 'order*'. Repeatable."
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="classic, consumer, share or streams. Repeatable.",
            autocompletion=complete_types,
        ),
    ] = None,
    state: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATE",
            help="Stable, Empty, PreparingRebalance and so on. Repeatable.",
            autocompletion=complete_states,
        ),
    ] = None,
    lag_above: Annotated[
        str | None,
        typer.Option(metavar="N|TIME", help="Groups further behind: in records, or 5m in time."),
    ] = None,
    is_stuck: Annotated[
        bool,
        typer.Option(
            "--stuck", help="Show only groups that made no progress between two looks (--interval)."
        ),
    ] = False,
    times: Annotated[
        bool | None,
        typer.Option(
            "--times/--no-times",
            help="Read the next record of each partition, however many there are; or of none.",
            show_default=False,
        ),
    ] = None,
    commit_times: Annotated[
        bool,
        typer.Option("--commit-times", help="Read when GROUPs committed, from __consumer_offsets."),
    ] = False,
    is_watch: Annotated[
        bool, typer.Option("--watch", help="Look again and again, and show rates.")
    ] = False,
    interval: Annotated[
        int,
        typer.Option(metavar="TIME", help="How long --watch and --stuck wait.", parser=positive_ns),
    ] = OptionDefault(positive_ns, "10s"),
    count: Annotated[
        int | None,
        typer.Option("--count", "-n", min=1, help="With --watch: end after so many looks."),
    ] = None,
    is_nagios: Annotated[
        bool, typer.Option("--nagios", help="Print one status line; exit 0, 1, 2 or 3.")
    ] = False,
    fail_on: FailOn = Severity.ERROR,
    no_headers: NoHeaders = False,
    output: Annotated[
        GroupsFormat,
        typer.Option("--output", "-o", metavar="FORM", help=f"One of {', '.join(GroupsFormat)}."),
    ] = GroupsFormat.TABLE,
    csv_safe: CsvSafe = False,
    live: LiveOptions = NO_OPTIONS,
) -> None:
    """List consumer groups with state, members and lag."""
    from kdiag_cli.commands.groups import options, run  # noqa: PLC0415 - 85 ms, not for --help

    chosen = options.GroupsOptions(
        names=tuple(dict.fromkeys([*(names or []), *(group or [])])),
        patterns=tuple(match or ()),
        types=tuple(each.lower() for each in kind or ()),
        states=tuple(each.lower() for each in state or ()),
        lag_above=options.lag_bar(lag_above),
        is_stuck=is_stuck,
        has_times=times,
        has_commit_times=commit_times,
        is_watching=is_watch,
        interval_ns=interval,
        looks=count,
        is_nagios=is_nagios,
        is_prometheus=output is GroupsFormat.PROMETHEUS,
        fail_on=fail_on,
        has_headers=not no_headers,
    )
    options.check(chosen)
    form = LiveFormat.TABLE if chosen.is_prometheus else LiveFormat(output.value)
    check_csv_safe(output, is_csv_safe=csv_safe)
    choose_form(form.document)
    choose_csv_safety(is_csv_safe=csv_safe)
    is_wide = live.is_wide or form is LiveFormat.WIDE
    raise typer.Exit(run.run(chosen, live._replace(output=form.result, is_wide=is_wide)))
