"""What was said to `kdiag tail`, and what it amounts to."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import typer

from kdiag.probe.tail.offset_spec import At, OffsetSpec, parse_offsets, timestamp
from kdiag.probe.tail.topic_selection import TopicSelector, parse_partitions, parse_selector
from kdiag_cli.commands.tail.filter import RecordFilter, parse_header, parse_pattern
from kdiag_cli.commands.tail.value_format import ValueFormat


class Shown(NamedTuple):
    """How records are printed.

    Attributes:
        output: text, json, jsonl or parquet.
        out: the file of `parquet`.
        format: a format string; None for the usual lines.
        key_format, value_format: what keys and values are taken for.
        is_wide: whether lines on a terminal are printed whole.
        is_quiet: whether nothing is told but errors.
    """

    output: str = "text"
    out: Path | None = None
    format: str | None = None
    key_format: ValueFormat = ValueFormat.AUTO
    value_format: ValueFormat = ValueFormat.AUTO
    is_wide: bool = False
    is_quiet: bool = False


class Chosen(NamedTuple):
    """Which records are printed, as the options say it: see `RecordFilter`."""

    grep: str | None = None
    keys: Sequence[str] = ()
    headers: Sequence[str] = ()
    shows_aborted: bool = False
    shows_control: bool = False


class Said(NamedTuple):
    """The options, as they were given.

    Attributes:
        topics: names and patterns, maybe with partitions.
        partitions: those of topics that have none with them.
        offsets: where to start and to stop.
        until_ns: when to stop.
        stops_at_end: whether to end where the logs end.
        follows: whether to wait for more, said in so many words.
        limit: after how many printed records to end; None for never.
        is_committed_only: `read_committed`.
        rack: where we are, for fetching from followers; empty for the `client.rack` setting.
        chosen: which records are printed.
        shown: how.
    """

    topics: Sequence[str]
    partitions: str | None = None
    offsets: Sequence[str] = ()
    until_ns: int | None = None
    stops_at_end: bool = False
    follows: bool = False
    limit: int | None = None
    is_committed_only: bool = True
    rack: str = ""
    chosen: Chosen = Chosen()
    shown: Shown = Shown()


def check(said: Said) -> None:
    """Refuse what contradicts itself.

    Raises:
        typer.BadParameter: with what would be right.
    """
    shown = said.shown
    if not said.topics:
        raise typer.BadParameter("give at least one", param_hint="TOPIC")
    if said.follows and said.stops_at_end:
        raise typer.BadParameter("choose one of --follow and --exit")
    if said.chosen.shows_aborted and not said.is_committed_only:
        why = "only with --isolation read_committed do brokers tell what was aborted"
        raise typer.BadParameter(why, param_hint="--show-aborted")
    if (shown.output == "parquet") != (shown.out is not None):
        raise typer.BadParameter("give --output parquet and --out FILE together")
    if shown.format is not None and shown.output != "text":
        raise typer.BadParameter(f"it goes with text, not {shown.output}", param_hint="--format")


def selectors_of(said: Said) -> list[TopicSelector]:
    """Return which topics and partitions are meant.

    Raises:
        ConfigError: if partitions are no such list.
    """
    selectors = [parse_selector(each) for each in said.topics]
    if said.partitions is None:
        return selectors
    partitions = parse_partitions(said.partitions)
    return [
        each._replace(partitions=partitions) if each.partitions is None else each
        for each in selectors
    ]


def offsets_of(said: Said, now_ms: int) -> OffsetSpec:
    """Return where to start and to stop.

    Raises:
        ConfigError: if they are no offsets.
    """
    stop = None if said.until_ns is None else timestamp(said.until_ns)
    return parse_offsets(said.offsets, now_ms, stop)


def filter_of(chosen: Chosen, offsets: OffsetSpec, now_ms: int) -> RecordFilter:
    """Return which records are printed.

    A moment to come has no offset yet, so each record is compared with it.

    Raises:
        ConfigError: if the pattern is no regular expression.
    """
    stop = offsets.stop
    is_to_come = stop is not None and stop.at is At.TIMESTAMP and stop.value > now_ms
    return RecordFilter(
        chosen.shows_aborted,
        chosen.shows_control,
        parse_pattern(chosen.grep),
        frozenset(each.encode("utf-8", "surrogateescape") for each in chosen.keys),
        [parse_header(each) for each in chosen.headers],
        stop.value if stop is not None and is_to_come else None,
    )
