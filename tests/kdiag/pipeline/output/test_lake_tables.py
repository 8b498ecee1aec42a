import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyspark
import pytest

from folders import CAPTURES
from kdiag.clock import ALWAYS, TimeRange
from kdiag.errors import ReportError
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.lake_tables import LakeTables, _during
from kdiag.pipeline.run import run
from kdiag.report.run_log import TableStore
from programs.kdiag_program import kdiag_apart

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NS_PER_DAY: Final = 86_400_000_000_000
JARS: Final = "KDIAG_LAKE_JARS"
"""The variable with jars, separated by commas, where Maven's names reach none."""

LAKES: Final = {
    "delta": ("4.2", "io.delta:delta-spark_2.13:4.4.0", []),
    "iceberg": (
        "4.1",
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
        ["spark.sql.catalog.lake=org.apache.iceberg.spark.SparkCatalog"],
    ),
}
"""Of each format the release of Spark that its jars are made for, the jars, and settings."""

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    ("store", "why"),
    [
        (TableStore("delta"), "org.apache"),
        (TableStore("iceberg", "lake.kafka"), r"\[REQUIRES_SINGLE_PART_NAMESPACE\] spark_catalog"),
    ],
)
def test_jars_that_are_missing_are_told_before_any_work(
    spark: "SparkSession", store: TableStore, why: str, tmp_path: Path
) -> None:
    """The captures are not even looked for."""
    with pytest.raises(ReportError, match=f"serve {store.format} tables: {why}") as raised:
        run(spark, Job(("/nowhere.pcap",), str(tmp_path / "out"), store=store))

    assert f"made for Spark {spark.version} by --packages or --jars" in str(raised.value)
    assert not (tmp_path / "out" / "_runs").exists()


def test_tables_have_names_that_spark_reads(spark: "SparkSession") -> None:
    """Paths may hold anything, as may parts of a catalog's names."""
    named = LakeTables(spark, "/out", TableStore("iceberg", "lake.my-kafka"))._identifier
    assert named("gaps") == "`lake`.`my-kafka`.`gaps`"
    placed = LakeTables(spark, "s3://bucket/a`b", TableStore("delta"))._identifier
    assert placed("gaps") == "delta.`s3a://bucket/a``b/gaps`"


def test_a_time_tells_its_day() -> None:
    """So files of other days are not read."""
    times = TimeRange(NS_PER_DAY, 3 * NS_PER_DAY)

    assert _during("exchanges", ALWAYS) == "true"
    assert "time_ns >= 86400000000000 AND date >= DATE '1970-01-02'" in _during("exchanges", times)
    assert _during("connections", times).endswith("date <= DATE '1970-01-04'")


@pytest.mark.parametrize("form", LAKES)
def test_tables_of_a_lake_are_replaced_by_run(form: str, tmp_path: Path) -> None:
    """By what Spark then reads; DuckDB says who can."""
    release, packages, settings = LAKES[form]
    if not pyspark.__version__.startswith(release):
        pytest.skip(f"jars of {form} are made for Spark {release}, not {pyspark.__version__}")
    conf = [*settings, "spark.sql.shuffle.partitions=2"]
    more = ["--master", "local[2]", *(each for item in conf for each in ("--conf", item))]
    given = os.environ.get(JARS)
    more += ["--jars", given] if given else ["--packages", packages]
    where = ["--out", tmp_path / "out", "--format", form]
    if form == "iceberg":
        where += ["--catalog", "lake.kafka"]
        for item in ("type=hadoop", f"warehouse={tmp_path}/lake"):
            more += ["--conf", f"spark.sql.catalog.lake.{item}"]
    first = kdiag_apart("pipeline", "run", CAPTURES / "acks.pcap", *where, "--name", "a", *more)
    assert first.code == 0, first.err
    names = [CAPTURES / f"{name}.pcap" for name in ("acks", "transaction", "rebalance")]
    for name, captures in (("a", names[:2]), ("b", names[2:])):
        begun = ("pipeline", "run", *captures, *where, "--name", name, *more, "-o", "json")
        done = kdiag_apart(*begun)
        assert done.code == 0, done.err
        rows = json.loads(done.out)["data"][0]["rows"]
        sql = f"SELECT count(*) AS n FROM exchanges WHERE run = '{name}' AND date IS NOT NULL"
        asked = kdiag_apart("pipeline", "query", tmp_path / "out", sql, *more, "-o", "csv")
        assert asked.out == f"n\n{rows['exchanges']}\n", asked.err
    here = kdiag_apart("query", tmp_path / "out", "SELECT 1 FROM exchanges")
    assert f"holds its tables as {form}, which Spark reads" in here.err
