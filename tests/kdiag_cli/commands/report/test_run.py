import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from folders import CAPTURES
from kdiag.report.engine import Database
from kdiag.report.sql_report import Query
from kdiag_cli.commands.report.run import ask_tables, run
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.captures import CaptureInputs, TableContents
from kdiag_cli.options.report import TableQuestion
from kdiag_cli.output.answer import AnswerFormat
from programs.kdiag_program import kdiag

CAPTURE = CAPTURES / "acks.pcap"
INPUTS = CaptureInputs([str(CAPTURE)])
COUNT = Query("SELECT count(*) AS n FROM exchanges", {})


def ask(files: list[Path], temporary: Path | None = None) -> tuple[ExitCode, list[int]]:
    """Ask the tables of captures how many exchanges there are."""
    found: list[int] = []

    def count(database: Database) -> None:
        if temporary is not None:
            assert list(temporary.glob("kdiag-tables-*/exchanges.parquet"))
        found.extend(database.ask(COUNT).read_all().column("n").to_pylist())

    return ask_tables(CaptureInputs(list(map(str, files))), TableContents(), count), found


@pytest.mark.thorough
def test_captures_become_tables_for_the_time_of_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are on disk while it is answered, and gone afterwards."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    assert ask([CAPTURE], tmp_path) == (ExitCode.DONE, [24])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_a_folder_of_tables_is_asked_as_it_is(tmp_path: Path) -> None:
    """It gives what the captures give."""
    kdiag("decode", CAPTURE, "-o", "parquet", "--out", tmp_path)

    assert ask([tmp_path]) == ask([CAPTURE])


@pytest.mark.thorough
def test_a_folder_of_captures_is_decoded(tmp_path: Path) -> None:
    """What holds no tables is taken for captures."""
    for name in ("acks", "admin"):
        (tmp_path / f"{name}.pcap").write_bytes((CAPTURES / f"{name}.pcap").read_bytes())
    code, (count,) = ask([tmp_path])

    assert code is ExitCode.DONE
    assert count > 24


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_an_interruption_ends_quietly(tmp_path: Path) -> None:
    """As in every command."""
    kdiag("decode", CAPTURE, "-o", "parquet", "--out", tmp_path)

    def interrupt(_: Database) -> None:
        raise KeyboardInterrupt

    assert (
        ask_tables(CaptureInputs([str(tmp_path)]), TableContents(), interrupt)
        is ExitCode.INTERRUPTED
    )


@pytest.mark.thorough
def test_a_question_is_answered_from_captures(capsys: pytest.CaptureFixture[str]) -> None:
    """In the form that is asked for, with or without the names of the columns."""
    query = Query("SELECT count(*) AS n FROM exchanges", {})
    for has_headers, lines in ((True, ["n", "24"]), (False, ["24"])):
        question = TableQuestion(query, AnswerFormat.CSV, "query", has_headers=has_headers)

        assert run(question, INPUTS, TableContents()) is ExitCode.DONE
        assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.thorough
def test_a_question_about_a_time_is_answered_from_its_rows() -> None:
    """Of captures, and of folders of tables."""
    sql = "SELECT count(*) AS n, min(time_ns) AS first_ns, max(time_ns) AS last_ns FROM exchanges"
    whole = json.loads(kdiag("query", CAPTURE, sql, "-o", "jsonl").out)
    first, last = (
        datetime.fromtimestamp(ns / 1e9, UTC) for ns in (whole["first_ns"], whole["last_ns"])
    )
    middle = (first + (last - first) / 2).isoformat()
    parts = [
        json.loads(kdiag("query", CAPTURE, sql, option, middle, "-o", "jsonl").out)["n"]
        for option in ("--from", "--to")
    ]

    assert min(parts) > 0
    assert sum(parts) == whole["n"]


@pytest.mark.thorough
def test_a_question_that_takes_too_long_is_given_up(capsys: pytest.CaptureFixture[str]) -> None:
    """DuckDB stops, and nothing of it is printed."""
    sql = (
        "SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3"
    )
    question = TableQuestion(
        Query(sql, {}), AnswerFormat.CSV, "query", has_headers=True, timeout_ns=1_000_000_000
    )

    assert run(question, INPUTS, TableContents()) is ExitCode.TIMEOUT
    assert capsys.readouterr() == ("", "kdiag: gave up after 1 s (--timeout)\n")


@pytest.mark.thorough
def test_a_wrong_question_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """Its mistake is told as DuckDB tells it."""
    question = TableQuestion(
        Query("SELECT nothing", {}), AnswerFormat.JSON, "query", has_headers=True
    )

    assert run(question, INPUTS, TableContents()) is ExitCode.USAGE
    assert "nothing" in capsys.readouterr().err
