from pathlib import Path

import pytest

from kdiag_cli.commands.lab.demo.shell import DemoError, DemoShell
from programs.kdiag_program import Printed

pytestmark = pytest.mark.thorough


def test_a_command_is_printed_as_one_would_type_it(tmp_path: Path) -> None:
    """With what it prints below."""
    output = Printed()
    with DemoShell(tmp_path, output) as shell:
        shell.title("A title")
        shell.run("errcode", "15", "--no-headers")
        assert repr(shell) == "<DemoShell after 1 commands>"
    lines = output.lines
    assert lines[:3] == ["", "# A title", "$ kdiag errcode 15 --no-headers"]
    assert "COORDINATOR_NOT_AVAILABLE" in lines[3]


def test_a_command_that_fails_ends_the_demo(tmp_path: Path) -> None:
    """With its exit code, and what it said."""
    output = Printed()
    with (
        DemoShell(tmp_path, output) as shell,
        pytest.raises(DemoError, match="kdiag errcode nope ended with 2"),
    ):
        shell.run("errcode", "nope", is_quiet=True)
    assert "nope" in output.text


def test_what_runs_beside_is_waited_for_and_ended(tmp_path: Path) -> None:
    """Its lines are kept; it is gone when the shell is left."""
    output = Printed()
    with DemoShell(tmp_path, output) as shell:
        beside = shell.start("lab")
        assert beside.wait_for("bootstrap.servers=").startswith("bootstrap.servers=127.0.0.1:")
        assert repr(beside) == "<DemoProcess kdiag lab>"
        other = shell.start("errcode", "0")
        with pytest.raises(DemoError, match="no 'nothing of the kind'"):
            other.wait_for("nothing of the kind")
        shell.print_lines(other.stop())
        assert beside.process.poll() is None
    assert beside.process.poll() is not None
    assert output.lines[:2] == ["$ kdiag lab &", "$ kdiag errcode 0 &"]
    assert "NONE" in output.text
