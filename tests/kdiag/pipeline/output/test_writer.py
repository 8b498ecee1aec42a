import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyspark
import pytest

from folders import CAPTURES
from kdiag.errors import ReportError
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.run_log import enter, open_log
from kdiag.pipeline.output.writer import open_writer
from kdiag.report.run_log import LoggedRun
from programs.kdiag_program import kdiag_apart
from spark_runs.pipeline_parts import TABLE_NAMES, read_tables
from spark_runs.rotated_captures import rotated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JARS: Final = "KDIAG_LAKE_JARS"
"""The variable with jars, separated by commas, where Maven's names reach none."""

LAKES: Final = {
    "delta": (
        "4.2",
        "io.delta:delta-spark_2.13:4.4.0",
        ["spark.databricks.delta.snapshotPartitions=2"],  # 50 by default, for large tables
    ),
    "iceberg": (
        "4.1",
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
        ["spark.sql.catalog.lake=org.apache.iceberg.spark.SparkCatalog"],
    ),
}
"""Of each format the release of Spark that its jars are made for, the jars, and settings."""

pytestmark = pytest.mark.soak


def test_a_folder_has_tables_of_one_kind(spark: "SparkSession", tmp_path: Path) -> None:
    """Nobody could read those of two kinds together."""
    out = str(tmp_path)
    enter(out, LoggedRun("a", format="delta"))

    with pytest.raises(ReportError, match="run a: has written its tables as delta"):
        open_writer(spark, Job((), out), open_log(out))


class Lake(NamedTuple):
    """Tables of a format, and the options by which kdiag makes and asks them.

    Attributes:
        folder: of the log.
        where: what `run` and `stream` are told.
        spark: what all commands are told.
    """

    folder: Path
    where: list[str]
    spark: list[str]

    def ask(self, sql: str) -> list[dict[str, Any]]:
        """Return Spark's answer to a question."""
        asked = kdiag_apart("pipeline", "query", self.folder, sql, *self.spark, "-o", "jsonl")
        assert asked.code == 0, asked.err
        return [json.loads(line) for line in asked.out.splitlines()]


@pytest.fixture(params=LAKES)
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    """Return a place for tables, if Spark is of the release that the jars are made for."""
    release, packages, settings = LAKES[request.param]
    if not pyspark.__version__.startswith(release):
        pytest.skip(f"jars are made for Spark {release}, not {pyspark.__version__}")
    where = ["--out", str(tmp_path / "out"), "--format", request.param]
    conf = [*settings, "spark.sql.shuffle.partitions=2"]
    if request.param == "iceberg":
        where += ["--catalog", "lake.kafka"]
        place = "spark.sql.catalog.lake"
        conf += [f"{place}.type=hadoop", f"{place}.warehouse={tmp_path}/lake"]
    given = os.environ.get(JARS)
    spark = ["--master", "local[2]", *(each for item in conf for each in ("--conf", item))]
    spark += ["--jars", given] if given else ["--packages", packages]
    return Lake(tmp_path / "out", where, spark)


def test_tables_of_a_lake_are_replaced_by_run(lake: Lake) -> None:
    """By what Spark then reads; DuckDB says who can."""
    names = [CAPTURES / f"{name}.pcap" for name in ("acks", "transaction", "rebalance")]
    for name, captures in (("a", names[:1]), ("a", names[:2]), ("b", names[2:])):
        begun = ("pipeline", "run", *captures, *lake.where, "--name", name, *lake.spark)
        done = kdiag_apart(*begun, "-o", "json")
        assert done.code == 0, done.err
        rows = json.loads(done.out)["data"][0]["rows"]
        sql = f"SELECT count(*) AS n FROM exchanges WHERE run = '{name}' AND date IS NOT NULL"
        assert lake.ask(sql) == [{"n": rows["exchanges"]}]
    here = kdiag_apart("query", lake.folder, "SELECT 1 FROM exchanges")
    assert "which Spark reads" in here.err


def test_a_stream_adds_its_batches_to_a_lake(lake: Lake, tmp_path: Path) -> None:
    """Groups are silent for long between two captures, so that their rows stay by and by."""
    folder = rotated(tmp_path, 3, "rebalance")
    options = ("--checkpoint", str(tmp_path / "checkpoint"), "--name", "s", "--once")
    more = ("--most-files", "1", "--idle", "100ms", "--tcp", "--values", "--close")
    done = kdiag_apart("pipeline", "stream", folder, *options, *more, *lake.where, *lake.spark)
    assert done.code == 0, done.err
    expected = tmp_path / "files"
    job = ("--checkpoint", str(tmp_path / "other"), "--out", str(expected))
    done = kdiag_apart("pipeline", "stream", folder, *options, *more, *job, "--master", "local[2]")
    assert done.code == 0, done.err
    counts = " UNION ALL ".join(
        f"SELECT '{each}' AS name, count(*) AS n FROM {each}" for each in TABLE_NAMES
    )
    found = {row["name"]: row["n"] for row in lake.ask(counts)}
    rows = read_tables(expected)
    assert found == {name: sum(batch.num_rows for batch in rows[name]) for name in TABLE_NAMES}
    parts = {row["run"] for row in lake.ask("SELECT DISTINCT run FROM rebalances")}
    assert any(each.startswith("s-groups-settled-") for each in parts)
