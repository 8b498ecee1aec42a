import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from kdiag.clock import ALWAYS, TimeRange
from kdiag.errors import ReportError
from kdiag.pipeline.output.run_log import enter
from kdiag.report.engine import Database, open_folder, rows_of
from kdiag.report.run_log import LoggedRun
from kdiag.report.sql_report import Query
from kdiag.report.stored_tables import StoredTables
from spark_runs.written_tables import write

DAY_NS = 86_400_000_000_000
QUERY = Query(
    "SELECT broker, client, run, CAST(date AS VARCHAR) AS day, typeof(date) AS kind"
    " FROM connections ORDER BY client",
    {},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return tables of two runs, and one file as older releases wrote it."""
    write(tmp_path, "days", *((day * DAY_NS, f"b:{day}", f"c{day}") for day in range(3)))
    write(tmp_path, "hours", (DAY_NS + 1, "b:9", "d"), is_hourly=True)
    old = tmp_path / "connections/date=1970-01-03/broker=b%3A1/old.parquet"
    old.parent.mkdir()
    parquet.write_table(pa.table({"client": ["e"], "first_ns": [2 * DAY_NS]}), old)
    (tmp_path / "_runs" / "days.json").rename(tmp_path / "days.json")
    shutil.rmtree(tmp_path / "_runs")
    (tmp_path / "exchanges.parquet").touch()
    return tmp_path


@pytest.mark.thorough
@pytest.mark.parametrize("times", [ALWAYS, TimeRange(DAY_NS), TimeRange(0, DAY_NS + 1)])
def test_datasets_have_the_rows_of_files(folder: Path, times: TimeRange) -> None:
    """With the types that DuckDB reads of paths, however the files lie."""
    stored = StoredTables(folder.as_uri())
    files = stored.files("connections")
    assert len(files) == 5
    answers = []
    for is_dataset in (True, False):
        with Database() as database:
            if is_dataset:
                found = stored.datasets("connections", files, times)
                database.add_datasets("connections", found, times)
            else:
                paths = [folder / file for file in files]
                database.add_files("connections", paths, are_partitions=True, times=times)
            rows = rows_of(database.lock().ask(QUERY))
            answers.append([row for batch in rows for row in batch.to_pylist()])

    assert answers[0] == answers[1]
    assert {row["kind"] for row in answers[0]} == {"DATE"}
    assert ("b:1", "e") in {(row["broker"], row["client"]) for row in answers[0]} or times.to_ns


def test_a_log_says_which_files_count(folder: Path) -> None:
    """One that it names must be there."""
    (folder / "_runs").mkdir()
    (folder / "days.json").rename(folder / "_runs" / "days.json")
    stored = StoredTables(f"{folder}/")
    assert stored.has_log
    assert all("/days-t" in file for file in stored.files("connections"))
    assert (stored.files("exchanges"), stored.files("gaps")) == (["exchanges.parquet"], [])
    (folder / stored.files("connections")[0]).unlink()
    with pytest.raises(ReportError, match="is missing, and a run in the log"):
        StoredTables(str(folder)).files("connections")


def test_what_cannot_be_read_is_named(folder: Path) -> None:
    """With its table."""
    (folder / "connections/date=1970-01-01/bad.parquet").write_text("no Parquet")
    stored = StoredTables(str(folder))
    with pytest.raises(ReportError, match="/connections: cannot be read"):
        stored.datasets("connections", stored.files("connections"), ALWAYS)
    with pytest.raises(ReportError, match="holds no tables: there is no exchanges"):
        open_folder(folder / "connections")


def test_tables_that_spark_alone_reads_are_told(tmp_path: Path) -> None:
    """A run that broke off says nothing yet."""
    enter(str(tmp_path), LoggedRun("d", format="delta", catalog="lake.kafka", is_complete=False))
    assert StoredTables(str(tmp_path)).files("exchanges") == []
    enter(str(tmp_path), LoggedRun("d", format="delta", catalog="lake.kafka"))
    with pytest.raises(ReportError, match="tables as delta, which Spark reads: kdiag pipeline"):
        StoredTables(str(tmp_path)).files("exchanges")
