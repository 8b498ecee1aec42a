from pathlib import Path

import pytest
from pyarrow import fs, parquet

from folders import CAPTURES
from kdiag.errors import ReportError
from kdiag.report.engine import holds_tables, open_folder
from kdiag.report.run_log import SCHEMA, LoggedRun, RunLog, files_of, is_unmade, notes_on
from kdiag.report.sql_report import Query
from recordings.capture_tables import tables_of

EXCHANGES = tables_of([CAPTURES / "acks.pcap"])["exchanges"]
NAMES = ("exchanges/date=2026-11-21/a.parquet", "exchanges/date=2026-11-21/b.parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two files of a table, and a log without entries."""
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(EXCHANGES, tmp_path / name)
    (tmp_path / "_runs").mkdir()
    return tmp_path


def enter(folder: Path, entry: str) -> None:
    """Write the entry of run `r`."""
    (folder / "_runs" / "r.json").write_text(entry)


def log_of(folder: Path) -> RunLog:
    """Return the log."""
    return RunLog(fs.LocalFileSystem(), str(folder))


def counted(folder: Path) -> int:
    """Return how many exchanges a query finds."""
    with open_folder(folder) as database:
        (answer,) = database.ask(Query("SELECT count(*) AS rows FROM exchanges", {}))
    return int(answer.to_pylist()[0]["rows"])


@pytest.mark.thorough
def test_only_files_that_the_log_names_are_read(folder: Path) -> None:
    """Those of a run under way, or of one that was killed, are there and do not count."""
    enter(folder, f'{{"run": "r", "files": ["{NAMES[0]}"]}}')

    assert counted(folder) == EXCHANGES.num_rows
    runs = log_of(folder).runs()
    assert files_of(runs, "exchanges") == [NAMES[0]]
    assert files_of(runs, "gaps") == []


def test_a_folder_whose_first_run_was_killed_holds_nothing(folder: Path) -> None:
    """That is said, and it is not taken for a capture."""
    assert holds_tables(folder)
    assert log_of(folder).exists
    with pytest.raises(ReportError, match="no run has written exchanges"):
        open_folder(folder)


@pytest.mark.thorough
def test_without_a_log_all_files_are_read(folder: Path) -> None:
    """Other programs write tables too."""
    (folder / "_runs").rmdir()

    assert not log_of(folder).exists
    assert counted(folder) == 2 * EXCHANGES.num_rows


def test_a_run_of_an_older_release_that_broke_off_does_not_count(folder: Path) -> None:
    """It named its files before they were there; what is unreadable is an error."""
    enter(folder, f'{{"run": "r", "files": ["{NAMES[0]}"], "is_complete": false}}')
    log = log_of(folder)
    assert log.runs() == []
    enter(folder, "{")
    with pytest.raises(ReportError, match=r"r\.json: not a run log of this kdiag release"):
        log.runs()


def test_a_file_that_is_missing_is_named(folder: Path) -> None:
    """Its rows are not left out in silence."""
    enter(folder, f'{{"run": "r", "files": ["{NAMES[0]}", "{NAMES[1]}"]}}')
    (folder / NAMES[1]).unlink()

    with pytest.raises(ReportError, match=r"b\.parquet: is missing, and a run in the log"):
        open_folder(folder)


@pytest.mark.thorough
def test_a_query_of_what_some_runs_have_not_made_is_told_so() -> None:
    """Streams make no tables of groups; of older releases only what is there is known."""
    groups = ["members", "rebalances"]
    batches = [LoggedRun(f"s-{number}", without=groups, schema=SCHEMA) for number in range(4)]
    runs = [*batches, LoggedRun("new", schema=SCHEMA), LoggedRun("old", {"members": 1})]

    (note,) = notes_on(runs, Query("SELECT count(*) FROM Rebalances", {}))
    assert note.startswith("rebalances: 5 of 6 runs are without it (s-0, s-1, s-2, ...): ")
    assert "4 of 6" in notes_on(runs, Query("SELECT * FROM members", {}))[0]
    assert notes_on(runs, Query("SELECT api FROM exchanges", {})) == []
    assert notes_on(runs[4:5], Query("SELECT * FROM rebalances, captures", {})) == []


def test_a_column_of_the_name_of_a_table_is_none() -> None:
    """Exchanges have a column `records`, and a query may have a table of its own by that name."""
    runs = [LoggedRun("a", {"batches": 2, "records": 4}), LoggedRun("b", {"batches": 1})]

    (note,) = notes_on(runs, Query("SELECT 1 FROM exchanges, records", {}))
    assert note.startswith(
        "records: 1 of 2 runs are without it (b): it is made only when asked for"
    )
    own = "WITH records AS (SELECT 1) SELECT * FROM records"
    for sql in ("SELECT records FROM exchanges", own):
        assert notes_on(runs, Query(sql, {})) == []
    assert [is_unmade(each, "records") for each in (runs, runs[1:], [])] == [False, True, False]


def test_a_query_of_what_nobody_has_asked_for_is_told_so() -> None:
    """Of a run without connections nothing is missing; without a log the tables tell."""
    runs = [LoggedRun("a", {"connections": 2, "tcp": 4}), LoggedRun("b", {"connections": 1})]

    (note,) = notes_on([*runs, LoggedRun("c")], Query("SELECT * FROM tcp", {}), ["tcp"])
    assert note.startswith("tcp: 1 of 3 runs are without it (b): it is made only when asked for")
    assert notes_on([], Query("SELECT * FROM tcp", {}), ["tcp"])[0].startswith("tcp: is empty")
    assert notes_on([], Query("SELECT * FROM gaps", {}), ["tcp"]) == []
