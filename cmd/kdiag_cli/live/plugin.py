"""A live command as a plugin of Nagios, Icinga and the like: one status line, exit codes 0 to 3.

    KAFKA OK - cluster MkU3OEVBNTcwNTJENDM2Qg, 3 brokers, controller 1 | time=0.041s

Source: the Monitoring Plugins Development Guidelines.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S, Clock, SystemClock
from kdiag.findings.finding import Finding, worst
from kdiag.findings.rule import Severity
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.live.run import run_live
from kdiag_cli.output.terminal import Output, harmless


class PluginStatus(IntEnum):
    """The exit codes of a plugin."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


class PluginResult(NamedTuple):
    """What a plugin says.

    Attributes:
        status: how bad it is.
        text: one line.
        figures: values by name, for graphs, as `name=value`.
    """

    status: PluginStatus
    text: str
    figures: tuple[str, ...] = ()


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
    work: Callable[[], PluginResult], timeout_ns: int | None, clock: Clock | None = None
) -> PluginStatus:
    """Run the work of a command, print its status line and return its exit code.

    Args:
        work: returns what to say.
        timeout_ns: the longest it may take; None for ever.
        clock: measures how long it takes.
    """
    clock = clock or SystemClock()
    began_ns = clock.monotonic_ns()
    results: list[PluginResult] = []

    def keep() -> ExitCode:
        results.append(work())
        return ExitCode.DONE

    code = run_live(keep, timeout_ns)
    took_s = (clock.monotonic_ns() - began_ns) / NS_PER_S
    said = results[0] if results else _without_result(code)
    output = Output()
    line = harmless(said.text).replace("|", "/")
    figures = " ".join((*said.figures, f"time={took_s:.3f}s"))
    output.line(f"KAFKA {said.status.name} - {line} | {figures}")
    output.flush()
    return said.status


def worst_text(findings: Sequence[Finding]) -> str | None:
    """Return the worst finding in a line, and how many more are as bad; None if none is bad."""
    bar = worst(findings)
    if bar not in _BY_SEVERITY:
        return None
    first, *others = [each for each in findings if each.severity is bar]
    more = f" (and {len(others)} more)" if others else ""
    return f"{first.id} {first.title}{more}. {first.fix}"


def status_of(code: ExitCode, severity: Severity | None) -> PluginStatus:
    """Return the status of a result with this exit code, and these findings at the worst."""
    by_severity = PluginStatus.OK
    if severity is not None:
        by_severity = _BY_SEVERITY.get(severity, PluginStatus.OK)
    return max(_BY_EXIT_CODE.get(code, PluginStatus.OK), by_severity)


def _without_result(code: ExitCode) -> PluginResult:
    status = _BY_EXIT_CODE.get(code, PluginStatus.UNKNOWN)
    return PluginResult(status, _NO_RESULT.get(code, "no result"))
