"""The options that commands have which print a table, or findings."""

import typer
from typer.testing import CliRunner

from kdiag.findings.rule import Severity
from kdiag_cli.options.results import FailOn, NoHeaders

given: list[object] = []


def command(*, fail_on: FailOn = Severity.ERROR, no_headers: NoHeaders = False) -> None:
    """Take both."""
    given[:] = [fail_on, no_headers]


def test_both_have_the_same_name_in_every_command() -> None:
    """A severity is one of three."""
    app = typer.Typer()
    app.command()(command)
    runner = CliRunner()
    assert runner.invoke(app, ["--fail-on", "warning", "--no-headers"]).exit_code == 0
    assert given == [Severity.WARNING, True]
    assert runner.invoke(app, ["--fail-on", "whatever"]).exit_code == 2
