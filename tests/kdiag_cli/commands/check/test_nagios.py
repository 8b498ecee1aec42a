import socket

import pytest

from client_ends.client_peers import closed_port
from kdiag.diagnosis.check.report import CheckPart, CheckRow, CheckStage, CheckStatus
from kdiag.errors import ConfigError, ConnectError, Layer
from kdiag.findings.finding import found
from kdiag_cli.commands.check.nagios import PluginStatus, plugin_status, run_plugin, summary
from programs.kdiag_program import kdiag

METADATA = CheckRow(stage=CheckStage.METADATA, status=CheckStatus.OK, detail="cluster x, 3 brokers")
REFUSED = ConnectError("a:1", Layer.TCP, "refused")
WARNING = found("KD2007", node_id=3)
ERROR = found("KD2008", why="silence")
NOTE = found("KD2004", count=2)


@pytest.mark.parametrize(
    ("report", "status"),
    [
        (CheckPart(), PluginStatus.OK),
        (CheckPart(findings=[NOTE]), PluginStatus.OK),
        (CheckPart(findings=[NOTE, WARNING]), PluginStatus.WARNING),
        (CheckPart(findings=[WARNING, ERROR]), PluginStatus.CRITICAL),
        (CheckPart(errors=[REFUSED]), PluginStatus.CRITICAL),
        (CheckPart(error_names=["GROUP_AUTHORIZATION_FAILED"]), PluginStatus.CRITICAL),
    ],
)
def test_a_report_is_as_bad_as_the_worst_of_it(report: CheckPart, status: PluginStatus) -> None:
    """Notes are no warnings."""
    assert plugin_status(report) is status


def test_the_line_says_what_is_worst() -> None:
    """And how much more of that there is; else what the cluster is."""
    assert summary(CheckPart(rows=[METADATA], findings=[NOTE])) == "cluster x, 3 brokers"
    assert (
        summary(CheckPart(findings=[NOTE, ERROR, WARNING])) == f"KD2008 {ERROR.title}. {ERROR.fix}"
    )
    again = found("KD2007", node_id=4)
    assert " (and 1 more). " in summary(CheckPart(findings=[WARNING, again]))
    assert summary(CheckPart()) == "no answer"


def test_the_line_has_performance_data(capsys: pytest.CaptureFixture[str]) -> None:
    """A bar inside the text would begin them too early."""
    row = CheckRow(stage=CheckStage.METADATA, status=CheckStatus.OK, detail="cluster a|b")
    assert run_plugin(lambda: CheckPart(rows=[row]), None) is PluginStatus.OK
    line = capsys.readouterr().out
    assert line.startswith("KAFKA OK - cluster a/b | time=0.0")
    assert line.endswith("s\n")


def test_without_a_result_the_state_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    """The reason is on stderr."""

    def fail() -> CheckPart:
        raise ConfigError("a.b", "-X", "bad")

    assert run_plugin(fail, None) is PluginStatus.UNKNOWN
    said = capsys.readouterr()
    assert said.out.startswith("KAFKA UNKNOWN - a setting is wrong | time=")
    assert "a.b (-X): bad" in said.err


def test_a_check_that_takes_too_long_is_critical(capsys: pytest.CaptureFixture[str]) -> None:
    """It did not answer in the time that it had."""
    quiet, other = socket.socketpair()

    def hang() -> CheckPart:
        quiet.recv(1)
        return CheckPart()

    with quiet, other:
        assert run_plugin(hang, 50_000_000) is PluginStatus.CRITICAL
    assert capsys.readouterr().out.startswith("KAFKA CRITICAL - no result in time | time=")


def test_the_exit_code_of_the_program_is_that_of_the_plugin() -> None:
    """Not kdiag's own."""
    done = kdiag("check", "-b", f"127.0.0.1:{closed_port()}", "--nagios", "--quick")
    assert done.code == 2
    assert done.out.startswith("KAFKA CRITICAL - KD1101 nothing listens on 127.0.0.1")
