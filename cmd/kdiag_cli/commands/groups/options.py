"""The options of `kdiag groups`, validated, and which groups they want."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

import typer

from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.exchange.line.quantities import parse_duration_ns
from kdiag.findings.rule import Severity
from kdiag.probe.groups.listing import ListedGroup
from kdiag.probe.groups.survey import SurveyRequest
from kdiag_cli.commands.groups.command import TYPES
from kdiag_cli.options.quantities import usage_errors

COMMAND: Final = "groups"

_PATIENCE_NS: Final = 4 * NS_PER_S
_PATIENCE_PART: Final = 3
"""Which part of --timeout one question may take: what is known is printed in time."""


class LagBar(NamedTuple):
    """The most that a group may be behind.

    Attributes:
        text: as it was given.
        lag: records; None if it is a time.
        lag_ms: the age of the next record.
    """

    text: str
    lag: int | None = None
    lag_ms: float | None = None


class GroupsOptions(NamedTuple):
    """The options of `kdiag groups`.

    Attributes:
        names: of the groups to show all about.
        patterns, types, states: one of each must fit, if there are any; types and states are in
            lower case.
        lag_above: what a group must be further behind than; None for any.
        is_stuck: whether to look twice, for those that do not get on.
        has_times: whether to read next records; None for where they are few.
        has_commit_times: whether to read when the named groups committed.
        is_watching: whether to go on looking.
        interval_ns: how long to wait between two looks.
        looks: after how many to end; None for never.
        is_nagios: whether to print one status line instead.
        is_prometheus: whether to print metrics instead.
        fail_on: the least severity of a finding that makes the exit code 1.
        has_headers: whether a table has a line of column names.
    """

    names: Sequence[str] = ()
    patterns: Sequence[str] = ()
    types: Sequence[str] = ()
    states: Sequence[str] = ()
    lag_above: LagBar | None = None
    is_stuck: bool = False
    has_times: bool | None = None
    has_commit_times: bool = False
    is_watching: bool = False
    interval_ns: int = 0
    looks: int | None = None
    is_nagios: bool = False
    is_prometheus: bool = False
    fail_on: Severity = Severity.ERROR
    has_headers: bool = True

    @property
    def is_overview(self) -> bool:
        """Return whether the sums of each group are enough, without members and partitions."""
        return not (self.names or self.is_stuck or self.is_watching or self.is_prometheus)

    def is_wanted(self, name: str, listed: ListedGroup) -> bool:
        """Return whether a group that its coordinator lists is wanted."""
        return (
            (not self.patterns or any(fnmatchcase(name, each) for each in self.patterns))
            and (not self.types or listed.type in self.types)
            and (not self.states or listed.state.lower() in self.states)
        )

    def request(self, timeout_ns: int | None = None) -> SurveyRequest:
        """Return what to ask the cluster.

        Args:
            timeout_ns: how long the whole command may take; None for ever.
        """
        part_ns = _PATIENCE_NS if timeout_ns is None else timeout_ns // _PATIENCE_PART
        needs_times = self.lag_above is not None and self.lag_above.lag_ms is not None
        return SurveyRequest(
            names=self.names,
            is_wanted=self.is_wanted,
            has_times=True if needs_times else self.has_times,
            has_commit_times=self.has_commit_times,
            patience_ns=min(_PATIENCE_NS, part_ns),
        )


def lag_bar(given: str | None) -> LagBar | None:
    """Return the bar of `--lag-above`: a number of records, or a time.

    Raises:
        typer.BadParameter: if it is neither.
    """
    if given is None:
        return None
    if given.isdecimal():
        return LagBar(given, lag=int(given))
    with usage_errors("--lag-above"):
        return LagBar(given, lag_ms=parse_duration_ns(given) / NS_PER_MS)


def check(options: GroupsOptions) -> None:
    """Refuse what contradicts itself.

    Raises:
        typer.BadParameter: with what would be right.
    """
    for each in options.types:
        if each not in TYPES:
            known = ", ".join(TYPES)
            raise typer.BadParameter(f"{each!r} is none of {known}", param_hint="'--type'")
    if not all(options.names):
        raise typer.BadParameter("a name is not empty", param_hint="GROUP")
    if options.has_commit_times and not options.names:
        raise typer.BadParameter("is for named groups", param_hint="'--commit-times'")
    if options.looks is not None and not options.is_watching:
        raise typer.BadParameter("is for --watch", param_hint="'--count'")
    one_look = options.is_nagios or options.is_prometheus
    if options.is_watching and (one_look or options.is_stuck):
        raise typer.BadParameter("choose one of --watch, --stuck, --nagios and -o prometheus")
    if options.is_nagios and options.is_prometheus:
        raise typer.BadParameter("choose one of --nagios and -o prometheus")
