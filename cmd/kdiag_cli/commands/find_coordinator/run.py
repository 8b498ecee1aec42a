"""The run of `kdiag find-coordinator`: asks once, watches, or shows where groups are."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from kdiag.diagnosis.coordinator import (
    NOT_AUTHORIZED,
    CoordinatorFacts,
    CoordinatorReport,
    find,
    report_on,
)
from kdiag.findings.finding import Finding
from kdiag.findings.rule import Severity
from kdiag.probe.coordinator.search import find_coordinators
from kdiag_cli.commands.find_coordinator.moves import show_moves
from kdiag_cli.commands.find_coordinator.options import (
    COMMAND,
    FindCoordinatorOptions,
    all_names,
    keys_of,
)
from kdiag_cli.commands.find_coordinator.text import document, print_reports
from kdiag_cli.commands.find_coordinator.watch import watch
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.live.run import run_live
from kdiag_cli.live.session import live_session
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.output.result import CommandResult, print_result

_ROUNDS: Final = 3


def run(options: FindCoordinatorOptions, live: LiveOptions) -> ExitCode:
    """Ask once, or go on watching, or show where all groups are; return the exit code."""
    work = find_once
    if options.shows_moves:
        work = show_moves
    elif options.is_watching:
        work = watch
    return run_live(
        lambda: work(options, live), live.timeout_ns, command=COMMAND, output=live.output
    )


def find_once(options: FindCoordinatorOptions, live: LiveOptions) -> ExitCode:
    """Print who coordinates each name."""
    names = all_names(options.names)
    with live_session(live) as client:
        keys = keys_of(client, options.kind, names)
        facts = find_coordinators(client, keys, options.kind, round_ns=round_ns(live.timeout_ns))
    reports = [report_on(key, facts) for key in keys]
    findings = find(reports, facts)
    result = CommandResult(
        COMMAND,
        lambda: [document(each) for each in reports],
        partial(print_reports, reports=reports, has_headers=options.has_headers),
        findings=findings,
    )
    print_result(result, live.output, is_wide=live.is_wide)
    return exit_code(reports, facts, findings, options.fail_on)


def round_ns(timeout_ns: int | None) -> int | None:
    """Return how long each of the three rounds of questions may take; None for the usual time.

    So that what is known is printed in time, though some broker may say nothing.
    """
    return None if timeout_ns is None else timeout_ns * 8 // 10 // _ROUNDS


def exit_code(
    reports: Sequence[CoordinatorReport],
    facts: CoordinatorFacts,
    findings: Sequence[Finding],
    fail_on: Severity,
) -> ExitCode:
    """Return the exit code: what kept all names from an answer counts most."""
    problems: list[str | ExitCode] = []
    if reports and all(each.error in NOT_AUTHORIZED for each in reports):
        problems.append(ExitCode.NOT_AUTHORIZED)
    if facts.is_nobody_reachable:
        problems.append(ExitCode.CANNOT_CONNECT)
    is_partial = bool(facts.unreachable) or any(each.silent for each in reports)
    return exit_code_of(problems, findings, fail_on, is_partial=is_partial)
