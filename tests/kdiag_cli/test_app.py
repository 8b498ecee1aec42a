from typer.testing import CliRunner

import kdiag
from kdiag_cli.app import app

RUNNER = CliRunner()


def test_the_version_is_that_of_the_library() -> None:
    """One number for both."""
    done = RUNNER.invoke(app, ["--version"])
    assert (done.exit_code, done.stdout) == (0, f"kdiag {kdiag.__version__}\n")


def test_help_names_the_commands() -> None:
    """By the long option, the short one, or nothing at all."""
    for arguments in (["--help"], ["-h"], []):
        done = RUNNER.invoke(app, arguments, prog_name="kdiag")
        assert "decode  Name every request and response" in done.output
        assert done.exit_code == (0 if arguments else 2)
