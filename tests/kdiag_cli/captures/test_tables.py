import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest
from pyarrow import parquet

from folders import CAPTURES
from kdiag.report.engine import Database
from kdiag.report.sql_report import Query
from kdiag_cli.captures.tables import ask_tables, require_report_extra
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.captures import CaptureInputs, TableContents
from programs.kdiag_program import kdiag

CAPTURE = CAPTURES / "acks.pcap"
COUNT = Query("SELECT count(*) AS n FROM exchanges", {})


def ask(files: list[Path], temporary: Path | None = None) -> tuple[ExitCode, list[int]]:
    """Ask the tables of captures how many exchanges there are."""
    found: list[int] = []

    def count(database: Database) -> None:
        if temporary is not None:
            assert list(temporary.glob("kdiag-tables-*/exchanges.parquet"))
        found.extend(database.ask(COUNT).read_all().column("n").to_pylist())

    return ask_tables(CaptureInputs(list(map(str, files))), TableContents(), count), found


def test_captures_become_tables_for_the_time_of_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are on disk while it is answered, and gone afterwards."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    assert ask([CAPTURE], tmp_path) == (ExitCode.DONE, [24])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_tables_is_asked_as_it_is(tmp_path: Path) -> None:
    """It gives what the captures give."""
    kdiag("decode", CAPTURE, "-o", "parquet", "--out", tmp_path)

    assert ask([tmp_path]) == ask([CAPTURE])


def test_a_folder_of_captures_is_decoded(tmp_path: Path) -> None:
    """What holds no tables is taken for captures."""
    for name in ("acks", "admin"):
        (tmp_path / f"{name}.pcap").write_bytes((CAPTURES / f"{name}.pcap").read_bytes())
    code, (count,) = ask([tmp_path])

    assert code is ExitCode.DONE
    assert count > 24


def test_a_cut_capture_is_answered_as_far_as_it_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code and a warning say that it is cut."""
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(CAPTURE.read_bytes()[:-5])
    code, found = ask([cut])

    assert code is ExitCode.PARTIAL
    assert found == [24]
    assert "cut.pcap" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["nowhere.pcap", "text.pcap"])
def test_what_is_no_capture_is_wrong_usage(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is asked."""
    (tmp_path / "text.pcap").write_text("no capture")

    assert ask([tmp_path / name]) == (ExitCode.USAGE, [])
    assert name in capsys.readouterr().err


def test_an_interruption_ends_quietly(tmp_path: Path) -> None:
    """As in every command."""
    kdiag("decode", CAPTURE, "-o", "parquet", "--out", tmp_path)

    def interrupt(_: Database) -> None:
        raise KeyboardInterrupt

    assert (
        ask_tables(CaptureInputs([str(tmp_path)]), TableContents(), interrupt)
        is ExitCode.INTERRUPTED
    )


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


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("-o", "parquet"), "--output parquet needs a folder: --out DIR"),
        (("--out", "tables"), "is for --output parquet"),
        (("--no-bodies",), "is for --output parquet"),
        (("-o", "parquet", "--out", "tables", "--summary"), "writes tables, nothing else"),
        (("-o", "parquet", "--out", "tables", "--raw"), "writes tables, nothing else"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: tuple[str, ...], why: str) -> None:
    """Before anything is written."""
    done = kdiag("decode", CAPTURE, *arguments)

    assert (done.code, done.out) == (2, "")
    assert why in done.err


def test_tables_hold_what_was_chosen(tmp_path: Path) -> None:
    """Filters choose exchanges, and gaps and connections are those of the JSON lines."""
    arguments = (CAPTURES / "produce_consume_group.pcap", "--api", "Fetch")
    kdiag("decode", *arguments, "-o", "parquet", "--out", tmp_path)
    lines = kdiag("decode", *arguments, "-o", "jsonl").out.splitlines()

    assert parquet.read_metadata(tmp_path / "exchanges.parquet").num_rows == len(lines)
    assert parquet.read_metadata(tmp_path / "connections.parquet").num_rows == 0
    assert not (tmp_path / "records.parquet").exists()


def test_secrets_are_redacted_in_tables_unless_asked_for(tmp_path: Path) -> None:
    """As in every output."""
    arguments = ("decode", CAPTURES / "sasl_plain.pcap", "-o", "parquet")
    kdiag(*arguments, "--out", tmp_path / "safe")
    kdiag(*arguments, "--out", tmp_path / "open", "--show-secrets")
    safe, shown = (
        "".join(
            str(body)
            for body in parquet.read_table(tmp_path / name / "exchanges.parquet")
            .column("request_body")
            .to_pylist()
        )
        for name in ("safe", "open")
    )
    token = b64encode(b"\0alice\0alice-invented").decode()

    assert token in shown
    assert token not in safe
    assert "<redacted>" in safe


def test_a_file_that_is_no_capture_leaves_no_tables(tmp_path: Path) -> None:
    """Nor half of them."""
    (tmp_path / "text.pcap").write_text("no capture")
    done = kdiag("decode", tmp_path / "text.pcap", "-o", "parquet", "--out", tmp_path / "tables")

    assert done.code == 2
    assert "text.pcap" in done.err
    assert list(tmp_path.glob("tables/*")) == []


def test_a_folder_that_cannot_be_written_is_wrong_usage(tmp_path: Path) -> None:
    """It is named."""
    (tmp_path / "file").write_text("")
    done = kdiag("decode", CAPTURE, "-o", "parquet", "--out", tmp_path / "file")

    assert (done.code, done.out) == (2, "")
    assert "file: cannot be written" in done.err
