"""Looks at groups: once, twice for `--stuck`, again and again for `--watch`.

Of what is watched, each look is a table below the last, with how fast groups read; with `-o json`,
a line for each group. The first look has no rates.
"""

from collections.abc import Callable

from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_S
from kdiag.diagnosis.groups.findings import find_missing
from kdiag.diagnosis.groups.model import Group, GroupsReport
from kdiag.diagnosis.groups.progress import find_between
from kdiag.diagnosis.groups.rates import GroupRates, rates_between
from kdiag.exchange.documents.document import Clockface
from kdiag.exchange.line.shown_time import time_of_day, zone_label
from kdiag.findings.finding import Finding
from kdiag.probe.groups.survey import survey_groups
from kdiag.probe.transactions.offset_holders import find_offset_holders
from kdiag_cli.commands.groups.document import group_document
from kdiag_cli.commands.groups.options import COMMAND, GroupsOptions
from kdiag_cli.commands.groups.text import print_group, print_groups
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.live.session import live_session
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.output.findings import say_findings
from kdiag_cli.output.json_text import print_json
from kdiag_cli.output.progress import StepProgress
from kdiag_cli.output.result import SCHEMA, ResultFormat, encode
from kdiag_cli.output.terminal import DIM, Output


def look(
    client: ClusterClient,
    options: GroupsOptions,
    timeout_ns: int | None = None,
    settle: Callable[[Group], None] = lambda _group: None,
) -> GroupsReport:
    """Return what the cluster tells, while a line says how far it is.

    Args:
        client: connected.
        options: which groups are wanted.
        timeout_ns: how long the whole command may take; None for ever.
        settle: is handed each group once it is known; it may condense the group.
    """
    progress = StepProgress(patience_ns=NS_PER_S)

    def show(done: float, count: int) -> None:
        progress.update(f"{done:.0f} of {count} groups", done / count)

    try:
        request = options.request(timeout_ns)._replace(progress=show, settle=settle)
        report = survey_groups(client, request)
        waiting = {each.group: each.pending for each in report.groups if each.pending}
        report.pending = find_offset_holders(client, waiting) if waiting else []
        return report
    finally:
        progress.clear()


def look_twice(client: ClusterClient, options: GroupsOptions) -> tuple[GroupsReport, list[Finding]]:
    """Return the groups that do not get on, and what two looks show of all."""
    before = look(client, options)
    client.wait(options.interval_ns)
    report = look(client, options)
    rates = rates_between(before, report)
    findings = find_between(before, report, rates)
    report.groups = [
        each for each in report.groups if each.group in rates and rates[each.group].stuck
    ]
    return report, findings


def watch(options: GroupsOptions, live: LiveOptions) -> ExitCode:
    """Print a look, then another one each interval, until `--count` or Ctrl-C.

    Groups that do not exist are said when that changes; if none of those named does, it ends.
    """
    output = Output(is_wide=live.is_wide)
    before: GroupsReport | None = None
    missing: list[Finding] = []
    count = 0
    with live_session(live, is_endless=True) as client:
        while True:
            report = look(client, options)
            known, missing = missing, find_missing(report)
            new = [each for each in missing if each not in known]
            if before is None and report.absent and not report.groups:
                say_findings(new, report.notes)
                return exit_code_of([], missing, options.fail_on)
            rates = {} if before is None else rates_between(before, report)
            if live.output is ResultFormat.JSON:
                _print_lines(output, options, report, rates)
            else:
                _print_tables(output, options, report, rates)
            output.flush()
            seen = [] if before is None else find_between(before, report, rates)
            say_findings([*new, *seen], report.notes)
            before, count = report, count + 1
            if options.looks is not None and count >= options.looks:
                is_partial = bool(report.failures or report.unknown)
                return exit_code_of([], missing, options.fail_on, is_partial=is_partial)
            client.wait(options.interval_ns)


def _print_lines(
    output: Output, options: GroupsOptions, report: GroupsReport, rates: dict[str, GroupRates]
) -> None:
    time = Clockface().text(report.at_ns)
    for each in report.groups:
        known = rates.get(each.group, GroupRates())
        line = group_document(each, known, is_whole=bool(options.names))
        head = {"schema": SCHEMA, "command": COMMAND, "time": time}
        print_json(output, encode(head | line), is_line=True)


def _print_tables(
    output: Output, options: GroupsOptions, report: GroupsReport, rates: dict[str, GroupRates]
) -> None:
    time = f"{time_of_day(report.at_ns, 0)} {zone_label(report.at_ns)}"
    output.line(output.paint(time, DIM))
    if not options.names:
        print_groups(output, report.groups, rates, has_headers=options.has_headers)
        return
    for each in report.groups:
        print_group(output, each, rates.get(each.group), has_headers=options.has_headers)
