from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from folders import ROOT
from kdiag.errors import ReportError
from kdiag.pipeline.decode import FlowRules
from kdiag.pipeline.output.views import _why_unread, ask
from kdiag.pipeline.run import Job, run
from kdiag.report.engine import Database, open_folder, rows_of
from kdiag.report.sql_report import Query, load_report, report_names
from recordings.capture_sets import recorded_sets
from tiers.sampling import IS_EXHAUSTIVE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def folder(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tables of the captures that ship, which have rows for every report."""
    out = tmp_path_factory.mktemp("tables")
    sets = [each for each in recorded_sets() if IS_EXHAUSTIVE or each.files[0].is_relative_to(ROOT)]
    files = tuple(str(file) for each in sets for file in each.files)
    keylog = b"".join(each.keylog for each in sets)
    run(spark, Job(files, str(out), rules=FlowRules(keylog=keylog), parts=2))
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
    spark: "SparkSession", folder: Path
) -> None:
    """The date of a row can be asked for."""
    sql = "SELECT count(*) AS n FROM records"
    assert ask(spark, str(folder), Query(sql, {})).to_pylist() == [{"n": 0}]
    sql = "SELECT count(DISTINCT date) > 0 AS is_dated FROM exchanges WHERE number IS NOT NULL"
    assert ask(spark, str(folder), Query(sql, {})).to_pylist() == [{"is_dated": True}]


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
