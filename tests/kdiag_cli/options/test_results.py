"""The options that commands have which print a table, or findings."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from folders import CAPTURES
from kdiag.errors import install_command
from kdiag.findings.rule import Severity
from kdiag_cli.options.results import FailOn, NoHeaders, Wide, require_report_extra

CAPTURE = CAPTURES / "acks.pcap"

given: list[object] = []


def command(
    *, fail_on: FailOn = Severity.ERROR, no_headers: NoHeaders = False, wide: Wide = False
) -> None:
    """Take all."""
    given[:] = [fail_on, no_headers, wide]


def test_all_have_the_same_name_in_every_command() -> None:
    """A severity is one of three."""
    app = typer.Typer()
    app.command()(command)
    runner = CliRunner()
    assert runner.invoke(app, ["--fail-on", "warning", "--no-headers", "-w"]).exit_code == 0
    assert given == [Severity.WARNING, True, True]
    assert runner.invoke(app, ["--fail-on", "whatever"]).exit_code == 2


_WITHOUT = """\
import sys
sys.modules["{missing}"] = None
from kdiag_cli.app import main
main()
"""


@pytest.mark.thorough
@pytest.mark.sampled(3)
@pytest.mark.parametrize("missing", ["pyarrow", "duckdb", "sqlglot"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("query", str(CAPTURE), "SELECT 1"),
        ("report", "clients", str(CAPTURE)),
        ("report", "clients", "--sql", "spark"),
        ("decode", str(CAPTURE), "-o", "parquet", "--out", "tables"),
    ],
    ids=["query", "report", "report-sql", "decode"],
)
def test_what_is_not_installed_is_named_with_the_line_that_installs_it(
    missing: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """It is wrong usage, and nothing is written."""
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT.format(missing=missing), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )

    assert done.returncode == 2
    assert done.stderr == f"kdiag: this needs {missing}: {install_command('report')}\n"
    assert list(tmp_path.iterdir()) == []


def test_where_everything_is_installed_nothing_is_said() -> None:
    """The program goes on."""
    require_report_extra()
