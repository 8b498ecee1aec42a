"""The tables that runs have written, as views of Spark in which reports are answered."""

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType

from kdiag.errors import ReportError
from kdiag.pipeline.place import is_folder
from kdiag.report.catalog import TABLES
from kdiag.report.column import Table
from kdiag.report.engine import ask_spark
from kdiag.report.sql_report import Query


def open_tables(spark: SparkSession, folder: str) -> None:
    """Make views of the tables in a folder, each by its name.

    A table that no run has rows of is empty; columns that older files lack are null.

    Raises:
        ReportError: there are no tables.
    """
    root = folder.rstrip("/")
    if not is_folder(f"{root}/exchanges"):
        raise ReportError(folder, "holds no tables: there is no folder exchanges")
    for table in TABLES.values():
        place = f"{root}/{table.name}"
        if is_folder(place):
            _open(spark, table, place)
        else:
            spark.createDataFrame([], table.ddl).createOrReplaceTempView(table.name)


def _open(spark: SparkSession, table: Table, place: str) -> None:
    reader = spark.read.option("basePath", place).option("mergeSchema", "true")
    rows = reader.parquet(place)
    known = {*rows.columns}
    columns = [
        (f.col(each.name) if each.name in known else f.lit(None)).cast(each.type).alias(each.name)
        for each in table.columns
    ]
    date = f.col("date").cast(StringType()).cast("date").alias("date")
    rows.select(*columns, date).createOrReplaceTempView(table.name)


def ask(spark: SparkSession, folder: str, query: Query) -> pa.Table:
    """Return the answer of Spark to a question about the tables in a folder.

    Raises:
        ReportError: there are no tables, or the question cannot be answered.
    """
    open_tables(spark, folder)
    try:
        return ask_spark(spark, query).toArrow()
    except PySparkException as error:
        raise ReportError("query", str(error)) from error
