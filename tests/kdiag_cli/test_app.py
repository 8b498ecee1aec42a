import pytest
from typer.testing import CliRunner

import kdiag
from kdiag_cli.app import COMMANDS, app

RUNNER = CliRunner()


def test_the_version_is_that_of_the_library() -> None:
    """One number for both."""
    done = RUNNER.invoke(app, ["--version"])
    assert (done.exit_code, done.stdout) == (0, f"kdiag {kdiag.__version__}\n")


def test_help_names_the_commands() -> None:
    """By the long option, the short one, or nothing at all."""
    for arguments in (["--help"], ["-h"], []):
        done = RUNNER.invoke(app, arguments, prog_name="kdiag")
        for name, (_, line) in COMMANDS.items():
            assert f"  {name}  " in done.output
            assert line in " ".join(done.output.split())
        assert done.exit_code == (0 if arguments else 2)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_of_a_command_is_the_first_of_its_own_help(name: str) -> None:
    """The table in `app`, which spares the import, says what the command says."""
    done = RUNNER.invoke(app, [name, "--help"], prog_name="kdiag")
    usage, line, *_ = done.output.split("\n\n")

    assert usage.startswith(f"Usage: kdiag {name} [OPTIONS]")
    assert " ".join(line.split()) == COMMANDS[name][1]
    assert "\\b" not in done.output, "examples keep their lines by a backspace, not by its name"
