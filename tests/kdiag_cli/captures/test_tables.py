import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest
from pyarrow import parquet

from folders import CAPTURES
from kdiag_cli.captures.tables import tables_of
from kdiag_cli.options.captures import CaptureInputs, TableContents
from programs.kdiag_program import kdiag
from tiers.cases import for_each

CAPTURE = CAPTURES / "acks.pcap"


@pytest.mark.thorough
@pytest.mark.parametrize("arguments", [("tables",), ("report", "--list"), ("decode", CAPTURE)])
def test_what_needs_no_library_loads_none(arguments: tuple[object, ...]) -> None:
    """The columns and the questions can be read without Arrow, and decoding does without it."""
    program = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('loaded:', *sys.modules, file=sys.stderr))\n"
        "from kdiag_cli.__main__ import main\n"
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


@for_each(
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


@pytest.mark.thorough
def test_tables_hold_what_was_chosen(tmp_path: Path) -> None:
    """Filters choose exchanges, and gaps and connections are those of the JSON lines."""
    arguments = (CAPTURES / "produce_consume_group.pcap", "--api", "Fetch")
    kdiag("decode", *arguments, "-o", "parquet", "--out", tmp_path)
    lines = kdiag("decode", *arguments, "-o", "jsonl").out.splitlines()

    assert parquet.read_metadata(tmp_path / "exchanges.parquet").num_rows == len(lines)
    assert parquet.read_metadata(tmp_path / "connections.parquet").num_rows == 0
    assert not (tmp_path / "records.parquet").exists()


@pytest.mark.thorough
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


def test_tables_tell_how_the_reading_went(tmp_path: Path) -> None:
    """As any other reading; they are complete when it returns."""
    result = tables_of(CaptureInputs([str(CAPTURE)]), tmp_path, TableContents(is_sorted=True))

    assert (result.exchange_count, result.is_partial) == (24, False)
    assert parquet.read_metadata(tmp_path / "exchanges.parquet").num_rows == 24
