"""The run of `kdiag groups`: one look at the groups of a cluster, or several."""

from collections.abc import Sequence

from kdiag.diagnosis.groups.findings import above_bar, find, find_all
from kdiag.diagnosis.groups.model import Group, GroupsReport
from kdiag.findings.finding import Finding
from kdiag_cli.commands.groups.document import group_document
from kdiag_cli.commands.groups.metrics import plugin_result, prometheus_lines
from kdiag_cli.commands.groups.options import COMMAND, GroupsOptions, LagBar
from kdiag_cli.commands.groups.text import print_group, print_groups
from kdiag_cli.commands.groups.watch import look, look_twice, watch
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.live.plugin import PluginResult, run_plugin
from kdiag_cli.live.run import run_live
from kdiag_cli.live.session import live_session
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.output.result import CommandResult, print_result
from kdiag_cli.output.terminal import Output, say


def run(options: GroupsOptions, live: LiveOptions) -> int:
    """Look, print, and return the exit code of the program."""
    if options.is_nagios:
        return run_plugin(lambda: _said(options, live), live.timeout_ns)
    work = watch if options.is_watching else _look
    return run_live(
        lambda: work(options, live), live.timeout_ns, command=COMMAND, output=live.output
    )


def _look(options: GroupsOptions, live: LiveOptions) -> ExitCode:
    """Print the groups as they are."""
    report, findings = _seen(options, live)
    if options.is_prometheus:
        output = Output()
        for line in prometheus_lines(report):
            output.line(line)
        output.flush()
        say(*report.notes)
        return _exit_code(options, report, findings)
    whole = bool(options.names)
    result = CommandResult(
        COMMAND,
        lambda: [group_document(each, is_whole=whole) for each in report.groups],
        lambda output: _print(output, options, report.groups),
        report.notes,
        findings,
    )
    print_result(result, live.output, is_wide=live.is_wide)
    return _exit_code(options, report, findings)


def _said(options: GroupsOptions, live: LiveOptions) -> PluginResult:
    report, findings = _seen(options, live)
    return plugin_result(report, findings, _unknown(options, report))


def _unknown(options: GroupsOptions, report: GroupsReport) -> list[str]:
    """Return why the status of a plugin is not sure.

    Ages count where the bar is a time: they take READ, which monitoring need not have.
    """
    reasons = [f"broker {node} did not list its groups" for node in report.failures]
    reasons += [f"group {each.group}: {each.error}" for each in report.groups if each.error]
    reasons += report.unknown
    bar = options.lag_above
    if bar is not None and bar.lag_ms is not None:
        reasons += report.warnings
    return reasons


def _seen(options: GroupsOptions, live: LiveOptions) -> tuple[GroupsReport, list[Finding]]:
    """Return the wanted groups, and what is wrong with them."""
    judge = GroupJudge(options.lag_above)
    with live_session(live) as client:
        if options.is_stuck:
            report, stuck = look_twice(client, options)
        elif options.is_overview:
            report, stuck = look(client, options, live.timeout_ns, judge.condense), []
        else:
            report, stuck = look(client, options, live.timeout_ns), []
    if not options.is_overview:
        for each in report.groups:
            judge.compare(each)
    if options.lag_above is not None:
        report.groups = [
            each
            for each in report.groups
            if each.group in judge.above or _may_be_above(each, options.lag_above)
        ]
    above = [judge.above[each.group] for each in report.groups if each.group in judge.above]
    return report, [*find_all(report), *judge.findings, *stuck, *above]


def _may_be_above(group: Group, bar: LagBar) -> bool:
    """Return whether a group may be further behind than is known."""
    amount = group.lag_amount if bar.lag is not None else group.age_amount
    return not amount.is_whole


class GroupJudge:
    """Finds what is wrong with groups, one after another.

    Attributes:
        above: the findings of groups that are too far behind, by group.
    """

    def __init__(self, bar: LagBar | None) -> None:
        self.above: dict[str, Finding] = {}
        self._bar = bar
        self._findings: dict[str, list[Finding]] = {}

    @property
    def findings(self) -> list[Finding]:
        """Return what is wrong with the groups that were condensed, by name."""
        return [each for name in sorted(self._findings) for each in self._findings[name]]

    def condense(self, group: Group) -> None:
        """Judge a group, and let go of its members and partitions."""
        self.compare(group)
        if self._bar is None or group.group in self.above:
            self._findings[group.group] = [*find(group)]
        group.condense()

    def compare(self, group: Group) -> None:
        """Note whether a group is too far behind."""
        bar = self._bar
        if bar is None:
            return
        finding = above_bar(group, bar.text, lag=bar.lag, lag_ms=bar.lag_ms)
        if finding is not None:
            self.above[group.group] = finding


def _print(output: Output, options: GroupsOptions, groups: Sequence[Group]) -> None:
    if not options.names:
        print_groups(output, groups, has_headers=options.has_headers)
        return
    for number, each in enumerate(groups):
        if number:
            output.line("")
        print_group(output, each, has_headers=options.has_headers)


def _exit_code(
    options: GroupsOptions, report: GroupsReport, findings: Sequence[Finding]
) -> ExitCode:
    """Return the exit code; what keeps all groups from being told counts most."""
    errors = [each.error for each in report.groups if each.error]
    problems: list[str | ExitCode] = []
    if options.names and len(errors) == len(report.groups):
        problems += errors
    is_partial = bool(report.failures or errors or report.unknown or report.warnings)
    return exit_code_of(problems, findings, options.fail_on, is_partial=is_partial)
