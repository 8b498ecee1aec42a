"""`kdiag find-coordinator NAME...`: asks once."""

import sys
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
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
from kdiag.probe.coordinator.share_keys import share_keys
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag_cli.commands.find_coordinator.text import document, print_reports
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.live.session import live_session
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.output.result import Result, print_result

COMMAND: Final = "find-coordinator"
_MAX_NAMES: Final = 100_000


class Search(NamedTuple):
    """What is looked for.

    Attributes:
        names: as given; `-` stands for the lines of stdin.
        kind: what the names are.
        fail_on: the least severity of a finding that makes the exit code 1.
        has_headers: whether a table has a line of column names.
        interval_ns: how often to look, where it is watched.
        looks: after how many looks to end; None for never.
    """

    names: Sequence[str]
    kind: CoordinatorKind
    fail_on: Severity
    has_headers: bool
    interval_ns: int
    looks: int | None


def once(search: Search, options: LiveOptions) -> ExitCode:
    """Print who coordinates each name."""
    names = all_names(search.names)
    with live_session(options) as client:
        keys = keys_of(client, search.kind, names)
        facts = find_coordinators(client, keys, search.kind)
    reports = [report_on(key, facts) for key in keys]
    findings = find(reports, facts)
    result = Result(
        COMMAND,
        lambda: [document(each) for each in reports],
        partial(print_reports, reports=reports, has_headers=search.has_headers),
        findings=findings,
    )
    print_result(result, options.output, is_wide=options.is_wide)
    return exit_code(reports, facts, findings, search.fail_on)


def all_names(names: Sequence[str]) -> list[str]:
    """Return the names, each once, with the lines of stdin in the place of `-`."""
    listed: list[str] = []
    for name in names:
        if name == "-":
            lines = (line.rstrip("\n") for line in sys.stdin.readlines(_MAX_NAMES * 250))
            listed += [line for line in lines if line]
        else:
            listed.append(name)
    return list(dict.fromkeys(listed))


def exit_code(
    reports: Sequence[CoordinatorReport],
    facts: CoordinatorFacts,
    findings: Sequence[Finding],
    fail_on: Severity,
) -> ExitCode:
    """Return how the command ends: what kept all names from an answer counts most."""
    problems: list[str | ExitCode] = []
    if reports and all(each.error in NOT_AUTHORIZED for each in reports):
        problems.append(ExitCode.NOT_AUTHORIZED)
    if facts.is_nobody_reachable:
        problems.append(ExitCode.CANNOT_CONNECT)
    is_partial = bool(facts.unreachable) or any(each.silent for each in reports)
    return exit_code_of(problems, findings, fail_on, is_partial=is_partial)


def keys_of(client: ClusterClient, kind: CoordinatorKind, names: Sequence[str]) -> list[str]:
    """Return what to ask for: of share groups, the keys of their partitions."""
    return share_keys(client, names) if kind is CoordinatorKind.SHARE else list(names)
