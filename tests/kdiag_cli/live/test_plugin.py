import socket

import pytest

from kdiag.errors import ConfigError
from kdiag.findings.rule import Severity
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.live.plugin import PluginResult, PluginStatus, run_plugin, status_of
from tiers.cases import for_each


def test_the_line_has_performance_data(capsys: pytest.CaptureFixture[str]) -> None:
    """A bar inside the text would begin them too early."""
    said = PluginResult(PluginStatus.OK, "cluster a|b", ("lag=7",))
    assert run_plugin(lambda: said, None) is PluginStatus.OK
    line = capsys.readouterr().out
    assert line.startswith("KAFKA OK - cluster a/b | lag=7 time=0.0")
    assert line.endswith("s\n")


def test_without_a_result_the_state_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    """The reason is on stderr."""

    def fail() -> PluginResult:
        raise ConfigError("a.b", "-X", "bad")

    assert run_plugin(fail, None) is PluginStatus.UNKNOWN
    said = capsys.readouterr()
    assert said.out.startswith("KAFKA UNKNOWN - a setting is wrong | time=")
    assert "a.b (-X): bad" in said.err


def test_work_that_takes_too_long_is_critical(capsys: pytest.CaptureFixture[str]) -> None:
    """There is no answer in the time that it had."""
    quiet, other = socket.socketpair()

    def hang() -> PluginResult:
        quiet.recv(1)
        return PluginResult(PluginStatus.OK, "")

    with quiet, other:
        assert run_plugin(hang, 50_000_000) is PluginStatus.CRITICAL
    assert capsys.readouterr().out.startswith("KAFKA CRITICAL - no result in time | time=")


@for_each(
    ("code", "severity", "status"),
    [
        (ExitCode.DONE, None, PluginStatus.OK),
        (ExitCode.DONE, Severity.INFO, PluginStatus.OK),
        (ExitCode.PARTIAL, None, PluginStatus.WARNING),
        (ExitCode.PARTIAL, Severity.ERROR, PluginStatus.CRITICAL),
        (ExitCode.TIMEOUT, Severity.WARNING, PluginStatus.CRITICAL),
    ],
)
def test_the_worse_of_exit_code_and_findings_counts(
    code: ExitCode, severity: Severity | None, status: PluginStatus
) -> None:
    """Notes are no warnings."""
    assert status_of(code, severity) is status
