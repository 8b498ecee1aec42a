from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from kdiag.clock import ALWAYS, TimeRange
from kdiag.errors import ReportError
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.lake_tables import LakeTables, _during
from kdiag.pipeline.run import run
from kdiag.report.run_log import TableStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NS_PER_DAY: Final = 86_400_000_000_000
pytestmark = pytest.mark.soak


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
