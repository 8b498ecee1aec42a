import subprocess
import sys
from pathlib import Path

import pytest
import typer

from folders import CAPTURES
from kdiag_cli.options.report import read_query, require_report_extra

CAPTURE = CAPTURES / "acks.pcap"


def test_parameters_are_given_as_key_and_value() -> None:
    """The value is what stands behind the first equals sign."""
    assert read_query("latency", ["api=Fetch", "client=a=b"]).values == {
        "api": "Fetch",
        "client": "a=b",
    }


def test_what_is_not_known_ends_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    """With the exit code of wrong usage."""
    with pytest.raises(typer.Exit) as raised:
        read_query("latency", ["broker=1"])

    assert raised.value.exit_code == 2
    assert "has no parameter broker" in capsys.readouterr().err


def test_a_parameter_without_a_value_is_refused() -> None:
    """It is wrong usage."""
    with pytest.raises(typer.BadParameter, match="'api' is not key=value"):
        read_query("latency", ["api"])


_WITHOUT = """\
import sys
sys.modules["{missing}"] = None
from kdiag_cli.app import main
main()
"""


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
    assert done.stderr == f"kdiag: this needs {missing}: pip install 'kdiag[report]'\n"
    assert list(tmp_path.iterdir()) == []


def test_where_everything_is_installed_nothing_is_said() -> None:
    """The program goes on."""
    require_report_extra()
