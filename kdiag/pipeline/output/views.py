"""The tables of all runs as views of Spark, for queries and reports."""

from typing import Final

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType

from kdiag.errors import ReportError
from kdiag.pipeline.session import QUERY_SETTINGS, session_with
from kdiag.pipeline.uri import is_folder
from kdiag.report.engine import ask_spark
from kdiag.report.sql_report import Query
from kdiag.report.tables.catalog import TABLES
from kdiag.report.tables.column import Table

_HADOOP_AWS: Final = "org.apache.hadoop:hadoop-aws:3.5.0"
_STACK: Final = "\n\tat "


def open_tables(spark: SparkSession, folder: str) -> None:
    """Create a view of each table in a folder, by its name.

    A table without rows in any run is empty; columns that older files lack are null.

    Raises:
        ReportError: if there are no tables.
    """
    root = folder.rstrip("/")
    if not is_folder(f"{root}/exchanges"):
        raise ReportError(folder, "holds no tables: there is no folder exchanges")
    for table in TABLES.values():
        uri = f"{root}/{table.name}"
        if is_folder(uri):
            _open(spark, table, uri)
        else:
            spark.createDataFrame([], table.ddl).createOrReplaceTempView(table.name)


def _open(spark: SparkSession, table: Table, uri: str) -> None:
    uri = uri.replace("s3://", "s3a://", 1)  # Hadoop's scheme, through which Spark reads
    reader = spark.read.option("basePath", uri).option("mergeSchema", "true")
    try:
        rows = reader.parquet(uri)
    except (PySparkException, Py4JError) as error:
        raise ReportError(uri, _why_unread(str(error))) from error
    known = {*rows.columns}
    columns = [
        (f.col(each.name) if each.name in known else f.lit(None)).cast(each.type).alias(each.name)
        for each in table.columns
    ]
    date = f.col("date").cast(StringType()).cast("date").alias("date")
    rows.select(*columns, date).createOrReplaceTempView(table.name)


def _why_unread(error: str) -> str:
    """Return why Spark cannot read files, and what to do if it lacks the file system."""
    if "ClassNotFoundException" in error or "No FileSystem for scheme" in error:
        return f"Spark lacks what reads it: give --conf spark.jars.packages={_HADOOP_AWS} for S3"
    return f"Spark cannot read it: {error.partition(_STACK)[0].strip()}"


def ask(spark: SparkSession, folder: str, query: Query) -> pa.Table:
    """Return Spark's answer to a query on the tables in a folder.

    Raises:
        ReportError: if there are no tables, or the query fails.
    """
    spark = session_with(spark, QUERY_SETTINGS)
    open_tables(spark, folder)
    try:
        return ask_spark(spark, query).toArrow()
    except PySparkException as error:
        raise ReportError("query", str(error)) from error
