import subprocess
import sys
from pathlib import Path

import pytest

from expected_exchanges import CAPTURES
from kdiag_cli.report_extra import require_report_extra
from kdiag_program import kdiag

CAPTURE = CAPTURES / "acks.pcap"
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


@pytest.mark.parametrize("arguments", [("tables",), ("report", "--list"), ("decode", CAPTURE)])
def test_what_needs_no_library_loads_none(arguments: tuple[object, ...]) -> None:
    """The columns and the questions can be read without Arrow, and decoding does without it."""
    program = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('loaded:', *sys.modules, file=sys.stderr))\n"
        "from kdiag_cli.app import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stderr.partition("loaded: ")[2].split())

    assert "typer" in loaded
    assert loaded & {"pyarrow", "duckdb", "sqlglot"} == set()
    assert kdiag(*arguments).out == done.stdout
