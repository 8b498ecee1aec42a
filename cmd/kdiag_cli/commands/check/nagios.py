"""A check as a plugin of Nagios, Icinga and the like: one status line, exit codes 0 to 3.

    KAFKA OK - cluster MkU3OEVBNTcwNTJENDM2Qg, 3 brokers, controller 1 | time=0.041s

Source: the Monitoring Plugins Development Guidelines.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Final

from kdiag.clock import NS_PER_S, Clock, SystemClock
from kdiag.diagnosis.check.report import CheckPart, CheckStage, CheckStatus
from kdiag.findings.finding import worst
from kdiag.findings.rule import Severity
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.live.run import run_live
from kdiag_cli.output.terminal import Output, harmless


class PluginStatus(IntEnum):
    """The exit codes of a plugin."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


_BY_EXIT_CODE: Final = {
    ExitCode.CANNOT_CONNECT: PluginStatus.CRITICAL,
    ExitCode.NOT_AUTHENTICATED: PluginStatus.CRITICAL,
    ExitCode.NOT_AUTHORIZED: PluginStatus.CRITICAL,
    ExitCode.TIMEOUT: PluginStatus.CRITICAL,
    ExitCode.PARTIAL: PluginStatus.WARNING,
}
_BY_SEVERITY: Final = {
    Severity.ERROR: PluginStatus.CRITICAL,
    Severity.WARNING: PluginStatus.WARNING,
}
_NO_RESULT: Final = {
    ExitCode.USAGE: "a setting is wrong",
    ExitCode.TIMEOUT: "no result in time",
    ExitCode.INTERRUPTED: "interrupted",
}


def run_plugin(
    work: Callable[[], CheckPart], timeout_ns: int | None, clock: Clock | None = None
) -> PluginStatus:
    """Run a check, print its status line and return its exit code.

    Args:
        work: returns the report of a check.
        timeout_ns: the longest it may take; None for ever.
        clock: measures how long it takes.
    """
    clock = clock or SystemClock()
    began_ns = clock.monotonic_ns()
    reports: list[CheckPart] = []

    def keep() -> ExitCode:
        reports.append(work())
        return ExitCode.DONE

    code = run_live(keep, timeout_ns)
    took_s = (clock.monotonic_ns() - began_ns) / NS_PER_S
    if reports:
        status, text = plugin_status(reports[0]), summary(reports[0])
    else:
        status = _BY_EXIT_CODE.get(code, PluginStatus.UNKNOWN)
        text = _NO_RESULT.get(code, "no result")
    output = Output()
    line = harmless(text).replace("|", "/")
    output.line(f"KAFKA {status.name} - {line} | time={took_s:.3f}s")
    output.flush()
    return status


def plugin_status(report: CheckPart) -> PluginStatus:
    """Return the status of a report."""
    code = exit_code_of(report.problems, is_partial=report.is_partial)
    by_code = _BY_EXIT_CODE.get(code, PluginStatus.OK)
    severity = worst(report.findings)
    return max(by_code, PluginStatus.OK if severity is None else _of(severity))


def summary(report: CheckPart) -> str:
    """Return the worst finding of a report, or the facts of a healthy cluster."""
    bar = worst(report.findings)
    if bar in _BY_SEVERITY:
        first, *others = [each for each in report.findings if each.severity is bar]
        more = f" (and {len(others)} more)" if others else ""
        return f"{first.id} {first.title}{more}. {first.fix}"
    rows = [each for each in report.rows if each.stage is CheckStage.METADATA]
    return next((each.detail for each in rows if each.status is CheckStatus.OK), "no answer")


def _of(severity: Severity) -> PluginStatus:
    return _BY_SEVERITY.get(severity, PluginStatus.OK)
