import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import kdiag_cli
from kdiag_cli.lazy_command import add_commands

RUNNER = CliRunner()
ONE = '''
EXAMPLES = "Examples: one-thing 3"

def one_thing(number: int) -> None:
    """Do one thing."""
    print(number + 1)
'''
MANY = '''
import typer

app = typer.Typer(rich_markup_mode=None)

@app.command()
def first() -> None:
    """Do the first."""
    print("first")

@app.command()
def second() -> None:
    """Do the second."""
    print("second")
'''


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[typer.Typer]:
    """Return a program with two commands whose modules lie beside those of kdiag."""
    (tmp_path / "one_thing.py").write_text(ONE)
    (tmp_path / "many_things.py").write_text(MANY)
    monkeypatch.setattr(kdiag_cli, "__path__", [*kdiag_cli.__path__, str(tmp_path)])
    program = typer.Typer(
        rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
    )
    commands = {
        "one-thing": ("kdiag_cli.one_thing", "Do one thing.", "Things"),
        "many-things": ("kdiag_cli.many_things", "Do many things.", "Things"),
    }
    add_commands(program, commands)
    yield program
    for name in ("one_thing", "many_things"):
        sys.modules.pop(f"kdiag_cli.{name}", None)


def test_help_lists_commands_without_importing_them(app: typer.Typer) -> None:
    """The line comes from the table."""
    done = RUNNER.invoke(app, ["--help"])

    assert "one-thing    Do one thing." in done.output
    assert "many-things  Do many things." in done.output
    assert "kdiag_cli.one_thing" not in sys.modules


def test_only_the_command_that_runs_is_imported(app: typer.Typer) -> None:
    """The others cost nothing."""
    done = RUNNER.invoke(app, ["one-thing", "3"])

    assert (done.exit_code, done.output) == (0, "4\n")
    assert "kdiag_cli.many_things" not in sys.modules


def test_the_help_of_a_command_is_its_own(app: typer.Typer) -> None:
    """Arguments and examples are read from the module; `-h` works as for the program."""
    done = RUNNER.invoke(app, ["one-thing", "-h"], prog_name="kdiag")

    assert "Usage: kdiag one-thing [OPTIONS]" in done.output
    assert "number" in done.output
    assert "Examples: one-thing 3" in done.output
    assert "--install-completion" not in done.output


def test_a_module_can_hold_a_group_of_commands(app: typer.Typer) -> None:
    """Its `app` is the group."""
    assert RUNNER.invoke(app, ["many-things", "second"]).output == "second\n"
    assert "first" in RUNNER.invoke(app, ["many-things", "--help"]).output


def test_a_wrong_argument_is_a_usage_error_of_the_command(app: typer.Typer) -> None:
    """The message names the command, and the exit code is 2."""
    done = RUNNER.invoke(app, ["one-thing", "x"], prog_name="kdiag")

    assert done.exit_code == 2
    assert "Usage: kdiag one-thing" in done.output


def test_a_shell_completes_the_options_of_a_command(app: typer.Typer) -> None:
    """Completion walks through the lazy command to the real one."""
    environment = {"COMP_WORDS": "root many-things s", "COMP_CWORD": "2"}
    done = RUNNER.invoke(app, [], env={"_ROOT_COMPLETE": "complete_bash", **environment})

    assert done.output.split() == ["second"]
