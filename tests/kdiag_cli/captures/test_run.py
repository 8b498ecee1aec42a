"""The frame of every command that reads captures; `test_decode` breaks its pipe for real."""

import pytest

from kdiag.errors import CaptureError, ReportError
from kdiag_cli.captures.run import run_on_captures
from kdiag_cli.exit_code import ExitCode


def test_the_exit_code_of_the_work_is_that_of_the_program() -> None:
    """Where nothing goes wrong."""
    assert run_on_captures(lambda: ExitCode.PARTIAL) is ExitCode.PARTIAL


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (CaptureError("a.pcap", "is cut"), "kdiag: a.pcap: is cut\n"),
        (ReportError("latency", "one\ntwo"), "kdiag: latency: one\nkdiag: two\n"),
    ],
)
def test_what_is_wrong_is_told_line_by_line(
    error: Exception, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is the user's file, or question."""

    def work() -> ExitCode:
        raise error

    assert run_on_captures(work) is ExitCode.USAGE
    assert capsys.readouterr().err == told


def test_an_interruption_has_its_own_exit_code() -> None:
    """Nothing is told: who interrupts knows."""

    def work() -> ExitCode:
        raise KeyboardInterrupt

    assert run_on_captures(work) is ExitCode.INTERRUPTED
