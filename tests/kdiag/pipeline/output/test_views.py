import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from folders import ROOT
from kdiag.clock import TimeRange
from kdiag.errors import ReportError
from kdiag.pipeline.decode import FlowRules
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.views import _why_unread, ask, open_tables
from kdiag.pipeline.run import run
from kdiag.report.arrow import arrow_schema
from kdiag.report.engine import Database, open_folder, rows_of
from kdiag.report.sql_report import Query, load_report, report_names
from kdiag.report.tables.catalog import TABLES, TableChoice
from recordings.capture_sets import recorded_sets
from spark_runs.written_tables import write
from tiers.sampling import IS_EXHAUSTIVE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY_NS = 86_400_000_000_000

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def folder(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tables of the captures that ship, which have rows for every report."""
    out = tmp_path_factory.mktemp("tables")
    sets = [each for each in recorded_sets() if IS_EXHAUSTIVE or each.files[0].is_relative_to(ROOT)]
    files = tuple(str(file) for each in sets for file in each.files)
    keylog = tmp_path_factory.mktemp("keys") / "keys"
    keylog.write_bytes(b"".join(each.keylog for each in sets))
    choice, rules = TableChoice(records=True, tcp=True), FlowRules(keylogs=(str(keylog),))
    run(spark, Job(files, str(out), choice=choice, rules=rules, parts=2))
    return out


@pytest.fixture(scope="module")
def database(folder: Path) -> Iterator[Database]:
    """Yield the same tables in DuckDB."""
    with open_folder(folder) as opened:
        yield opened


def rows_here(database: Database, query: Query) -> list[dict[str, Any]]:
    """Return DuckDB's answer."""
    return [row for batch in rows_of(database.ask(query)) for row in batch.to_pylist()]


@pytest.mark.parametrize("name", report_names())
def test_a_report_has_the_same_rows_on_spark(
    spark: "SparkSession", folder: Path, database: Database, name: str
) -> None:
    """In the same order, with the same names."""
    query = load_report(name).query({})
    expected = rows_here(database, query)

    assert expected
    assert ask(spark, str(folder), query).to_pylist() == expected


def test_a_table_without_rows_is_empty_and_one_without_a_column_has_nulls(
    spark: "SparkSession", folder: Path, tmp_path: Path
) -> None:
    """The date of a row can be asked for."""
    (tmp_path / "exchanges").mkdir()
    rows = arrow_schema(TABLES["exchanges"]).empty_table()
    parquet.write_table(rows, tmp_path / "exchanges" / "none.parquet")
    sql = "SELECT count(*) AS n FROM records"
    assert ask(spark, str(tmp_path), Query(sql, {})).to_pylist() == [{"n": 0}]
    sql = "SELECT count(DISTINCT date) > 0 AS is_dated FROM exchanges WHERE number IS NOT NULL"
    assert ask(spark, str(folder), Query(sql, {})).to_pylist() == [{"is_dated": True}]


def test_files_of_other_days_are_not_read(spark: "SparkSession", tmp_path: Path) -> None:
    """And of a day that is cut, other rows do not count; older layouts are read, too."""
    write(tmp_path, "days", *((day * DAY_NS, "b:1", "a") for day in range(4)))
    write(tmp_path, "hours", (DAY_NS + 1, "b:1", "b"), is_hourly=True)
    files = write(tmp_path, "old", (DAY_NS + 2, "b:2", "c"))
    old = next(file for file in files if "/old-" in file)
    aged = str(Path(old).parent / "broker=b%3A2" / Path(old).name)
    rows = parquet.read_table(tmp_path / old, partitioning=None)
    (tmp_path / aged).parent.mkdir()
    (tmp_path / old).unlink()
    parquet.write_table(rows.drop_columns(["broker", "run", "capture_file"]), tmp_path / aged)
    entry = tmp_path / "_runs" / "old.json"
    entry.write_text(entry.read_text().replace(old, aged))
    exchanges = {
        **json.loads(entry.read_text()),
        "files": ["exchanges/nothing.parquet"],
        "run": "e",
    }
    (tmp_path / "exchanges").mkdir()
    parquet.write_table(
        arrow_schema(TABLES["exchanges"]).empty_table(), tmp_path / "exchanges" / "nothing.parquet"
    )
    (tmp_path / "_runs" / "e.json").write_text(json.dumps(exchanges))
    times = TimeRange(DAY_NS, 2 * DAY_NS)
    query = Query("SELECT broker, client, run FROM connections ORDER BY client", {})
    found = [("b:1", "a", "days"), ("b:1", "b", "hours"), ("b:2", "c", None)]

    with open_folder(tmp_path, times=times) as database:
        assert [tuple(row.values()) for row in rows_here(database, query)] == found
    assert [
        tuple(row.values()) for row in ask(spark, str(tmp_path), query, times).to_pylist()
    ] == found
    open_tables(spark, str(tmp_path), times)
    assert len(spark.table("connections").inputFiles()) == 3


def test_what_cannot_be_answered_is_said(spark: "SparkSession", folder: Path) -> None:
    """No tables, or no such column."""
    with pytest.raises(ReportError, match="holds no tables"):
        ask(spark, "/nowhere", Query("SELECT 1", {}))
    with pytest.raises(ReportError, match="nothing"):
        ask(spark, str(folder), Query("SELECT nothing FROM exchanges", {}))


def test_who_lacks_a_file_system_of_spark_is_told_how_to_get_it() -> None:
    """Spark reads object stores by Hadoop's connectors, which it does not bring along."""
    error = "java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem"

    assert "--conf spark.jars.packages=org.apache.hadoop:hadoop-aws" in _why_unread(error)
    assert _why_unread("no\n\tat java.base") == "Spark cannot read it: no"
