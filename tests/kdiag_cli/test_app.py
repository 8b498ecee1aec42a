import pytest
from typer.testing import CliRunner

import kdiag
from kdiag_cli.app import COMMANDS, PANELS, app
from tiers.cases import for_each

RUNNER = CliRunner()


def test_the_version_is_that_of_the_library() -> None:
    """One number for both."""
    done = RUNNER.invoke(app, ["--version"])
    assert (done.exit_code, done.stdout) == (0, f"kdiag {kdiag.__version__}\n")


def test_help_names_the_commands() -> None:
    """By the long option and by the short one."""
    for arguments in (["--help"], ["-h"]):
        done = RUNNER.invoke(app, arguments, prog_name="kdiag")
        for name, (_, line) in COMMANDS.items():
            assert f"  {name}  " in done.output
            assert line in " ".join(done.output.split())
        assert (done.exit_code, done.stderr) == (0, "")


def test_wrong_usage_is_on_stderr() -> None:
    """So a pipe gets nothing, and the exit code is 2."""
    for arguments in (["nope"], ["--nope"], ["decode", "--nope"], ["pipeline", "nope"]):
        done = RUNNER.invoke(app, arguments, prog_name="kdiag")
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr.startswith("Usage: kdiag ")


@pytest.mark.parametrize("name", ["pipeline", "config"])
def test_a_group_alone_shows_its_help(name: str) -> None:
    """As the program itself does."""
    alone, asked = (RUNNER.invoke(app, [name, *more]) for more in ([], ["--help"]))

    assert (alone.exit_code, alone.stderr) == (0, "")
    assert alone.stdout == asked.stdout


def test_every_command_stands_under_a_heading() -> None:
    """Under one only."""
    assert sorted(name for names in PANELS.values() for name in names) == sorted(COMMANDS)


@pytest.mark.thorough
@for_each("name", COMMANDS)
def test_the_line_of_a_command_is_the_first_of_its_own_help(name: str) -> None:
    """The table in `app`, which spares the import, says what the command says."""
    done = RUNNER.invoke(app, [name, "--help"], prog_name="kdiag")
    usage, line, *_ = done.output.split("\n\n")

    assert usage.startswith(f"Usage: kdiag {name} [OPTIONS]")
    assert " ".join(line.split()) == COMMANDS[name][1]
    assert "\\b" not in done.output, "examples keep their lines by a backspace, not by its name"
