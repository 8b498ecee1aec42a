"""The options of `kdiag tail`, validated."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import typer

from kdiag.errors import ConfigError
from kdiag.probe.tail.offset_spec import At, OffsetSpec, parse_offsets, timestamp
from kdiag.probe.tail.topic_selection import TopicSelector, parse_partitions, parse_selector
from kdiag_cli.commands.tail.filter import RecordFilter, parse_header, parse_pattern
from kdiag_cli.commands.tail.value_format import ValueFormat
from kdiag_cli.options.results import require_folder


class PrintOptions(NamedTuple):
    """The options about how records are printed.

    Attributes:
        output: text, json, jsonl or parquet.
        out: the file of `parquet`.
        format: a format string; None for the usual lines.
        key_format, value_format: how keys and values are written.
        is_wide: whether lines on a terminal are printed whole.
        is_quiet: whether nothing is reported but errors.
    """

    output: str = "text"
    out: Path | None = None
    format: str | None = None
    key_format: ValueFormat = ValueFormat.AUTO
    value_format: ValueFormat = ValueFormat.AUTO
    is_wide: bool = False
    is_quiet: bool = False


class FilterOptions(NamedTuple):
    """The options about which records are printed: see `RecordFilter`."""

    grep: str | None = None
    keys: Sequence[str] = ()
    headers: Sequence[str] = ()
    shows_aborted: bool = False
    shows_control: bool = False


class MembershipOptions(NamedTuple):
    """The options about the group that is joined.

    Attributes:
        group: its id; empty for none.
        protocol: `classic` or `consumer`; None for what the settings say, or the group is.
        assignor: the only one to offer, or to ask the broker for; None for what the group has, or
            the settings say.
        instance_id: of a static member.
        commits: whether to commit what was printed.
        is_sure: whether not to ask before a group with members is joined.
    """

    group: str = ""
    protocol: str | None = None
    assignor: str | None = None
    instance_id: str | None = None
    commits: bool = False
    is_sure: bool = False


class TailOptions(NamedTuple):
    """The options of `kdiag tail`.

    Attributes:
        topics: names and patterns, maybe with partitions.
        partitions: those of topics that have none with them.
        offsets: where to start and to stop.
        until_ns: when to stop.
        stops_at_end: whether to end where the logs end.
        waits: whether to wait for topics that do not exist yet.
        follows: whether `--follow` asks for what is the default.
        limit: after how many printed records to end; None for never.
        is_committed_only: `read_committed`.
        rack: of this client, to fetch from followers; empty for the setting `client.rack`.
        skips_damaged: whether commits and resume positions may pass what could not be read.
        resume_file: says where to go on, and is written where the tail stops; None for none.
        filters: which records are printed.
        printing: how they are printed.
        membership: of the group to join, if one is.
        repeated: the options with which to go on where it stops.
    """

    topics: Sequence[str]
    partitions: str | None = None
    offsets: Sequence[str] = ()
    until_ns: int | None = None
    stops_at_end: bool = False
    waits: bool = False
    follows: bool = False
    limit: int | None = None
    is_committed_only: bool = True
    rack: str = ""
    skips_damaged: bool = False
    resume_file: Path | None = None
    filters: FilterOptions = FilterOptions()
    printing: PrintOptions = PrintOptions()
    membership: MembershipOptions = MembershipOptions()
    repeated: Sequence[str] = ()


_MEMBER_OPTIONS: Final = {
    "group": "--group",
    "protocol": "--protocol",
    "assignor": "--assignor",
    "instance_id": "--instance-id",
    "commits": "--commit",
    "is_sure": "--yes",
}


def check(options: TailOptions) -> None:
    """Refuse what contradicts itself.

    Raises:
        typer.BadParameter: with what would be right.
    """
    printing = options.printing
    if not options.topics and (options.resume_file is None or not options.resume_file.exists()):
        raise typer.BadParameter("give at least one", param_hint="TOPIC")
    require_folder(options.resume_file, "--resume-file")
    require_folder(printing.out, "--out")
    if options.follows and options.stops_at_end:
        raise typer.BadParameter("choose one of --follow and --exit")
    if options.filters.shows_aborted and not options.is_committed_only:
        why = "only with --isolation read_committed do brokers say what was aborted"
        raise typer.BadParameter(why, param_hint="--show-aborted")
    if (printing.output == "parquet") != (printing.out is not None):
        raise typer.BadParameter("give --output parquet and --out FILE together")
    if printing.format is not None and printing.output != "text":
        raise typer.BadParameter(f"it goes with text, not {printing.output}", param_hint="--format")
    _check_membership(options)


def _check_membership(options: TailOptions) -> None:
    """Refuse what is for members alone, and what a member cannot have.

    Raises:
        typer.BadParameter: with what would be right.
    """
    given = options.membership
    if not given.group:
        for name, value in given._asdict().items():
            if value:
                hint = _MEMBER_OPTIONS[name]
                raise typer.BadParameter("it goes with --group", param_hint=hint)
        return
    has_partitions = any(":" in each for each in options.topics) or options.partitions is not None
    if has_partitions:
        why = "the group says which partitions a member reads; give topics alone"
        raise typer.BadParameter(why, param_hint="--group")
    if options.resume_file is not None:
        why = "a group keeps its offsets itself: --commit"
        raise typer.BadParameter(why, param_hint="--resume-file")
    if options.waits:
        raise typer.BadParameter("it does not go with --group", param_hint="--wait")


def selectors_of(options: TailOptions) -> list[TopicSelector]:
    """Return the topics and partitions.

    Raises:
        ConfigError: if a text is not a list of partitions.
    """
    selectors = [parse_selector(each) for each in options.topics]
    if options.partitions is None:
        return selectors
    partitions = parse_partitions(options.partitions)
    if not partitions:
        why = "names no partition; write them such as 0,3,5-7"
        raise ConfigError(options.partitions, "--partition", why)
    return [
        each._replace(partitions=partitions) if each.partitions is None else each
        for each in selectors
    ]


def offsets_of(options: TailOptions, now_ms: int) -> OffsetSpec:
    """Return the offsets to start and to stop at.

    Raises:
        ConfigError: if a text is not an offset.
    """
    stop = None if options.until_ns is None else timestamp(options.until_ns)
    return parse_offsets(options.offsets, now_ms, stop)


def filter_of(filters: FilterOptions, offsets: OffsetSpec, now_ms: int) -> RecordFilter:
    """Return the filter of records.

    A moment in the future has no offset yet, so each record is compared with it.

    Raises:
        ConfigError: if the pattern is not a regular expression.
    """
    stop = offsets.stop
    is_to_come = stop is not None and stop.at is At.TIMESTAMP and stop.value > now_ms
    return RecordFilter(
        filters.shows_aborted,
        filters.shows_control,
        parse_pattern(filters.grep),
        frozenset(each.encode("utf-8", "surrogateescape") for each in filters.keys),
        [parse_header(each) for each in filters.headers],
        stop.value if stop is not None and is_to_come else None,
    )
