"""The tables of all runs as views of Spark, for queries and reports."""

from collections.abc import Iterable
from functools import reduce
from typing import Final

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from kdiag.clock import ALWAYS, TimeRange
from kdiag.errors import ReportError
from kdiag.pipeline.output.lake_tables import MORE, LakeTables, ddl_of
from kdiag.pipeline.session import QUERY_SETTINGS, session_with
from kdiag.report.engine import ask_spark
from kdiag.report.layout import by_keys, files_during
from kdiag.report.run_log import RunLog, files_of
from kdiag.report.sql_report import Query
from kdiag.report.tables.catalog import TABLES, time_column
from kdiag.report.tables.column import Table
from kdiag.report.uri import is_folder, resolve

_HADOOP_AWS: Final = "org.apache.hadoop:hadoop-aws:3.5.0"
_STACK: Final = "\n\tat "


def open_tables(
    spark: SparkSession,
    folder: str,
    times: TimeRange = ALWAYS,
    tables: Iterable[Table] = TABLES.values(),
) -> None:
    """Create a view of each table in a folder, by its name.

    Of a folder with a log of runs, only what complete runs have written is read. A table without
    rows in any run is empty; columns that older files lack are null.

    Args:
        spark: the session that gets the views.
        folder: of the tables.
        times: of the rows; files of other days are not read.
        tables: those to create; each takes Spark a tenth of a second and more.

    Raises:
        ReportError: if there are no tables.
    """
    root = folder.rstrip("/")
    log = RunLog(*resolve(root))
    runs = log.runs() if log.exists else []
    if runs and not runs[0].store.is_files:
        lake = LakeTables(spark, root, runs[0].store)
        names = [name for each in runs for name in each.names]
        for table in tables:
            lake.read(table, names, times).createOrReplaceTempView(table.name)
        return
    files_by_name = _files_by_name(root)
    if not files_by_name["exchanges"]:
        raise ReportError(folder, "holds no tables: no run has written exchanges")
    root = root.replace("s3://", "s3a://", 1)  # Hadoop's scheme, through which Spark reads
    for table in tables:
        files = files_during(files_by_name[table.name], times)
        if files:
            rows = _rows_of(spark, table, root, files)
            column = f.col(time_column(table.name))
            if times.from_ns is not None:
                rows = rows.filter(column >= times.from_ns)
            if times.to_ns is not None:
                rows = rows.filter(column < times.to_ns)
        else:
            rows = spark.createDataFrame([], ddl_of(table))
        rows.createOrReplaceTempView(table.name)


def _files_by_name(root: str) -> dict[str, list[str]]:
    """Return the files of each table, or its folder if all of them count, as paths in the root."""
    log = RunLog(*resolve(root))
    if not log.exists:
        return {name: [name] if is_folder(f"{root}/{name}") else [] for name in TABLES}
    runs = log.runs()
    return {name: files_of(runs, name) for name in TABLES}


def _rows_of(spark: SparkSession, table: Table, root: str, files: list[str]) -> DataFrame:
    """Return the rows of files, however they lie in their folder."""
    uri = f"{root}/{table.name}"
    groups = []
    for group in by_keys(files).values():
        reader = spark.read.option("basePath", uri).option("mergeSchema", "true")
        try:
            rows = reader.parquet(*(f"{root}/{file}" for file in group))
        except (PySparkException, Py4JError) as error:
            raise ReportError(uri, _why_unread(str(error))) from error
        known = {*rows.columns}
        columns = [(each.name, each.type) for each in table.columns] + list(MORE)
        groups.append(
            rows.select(
                *(
                    (f.col(name) if name in known else f.lit(None)).cast(type_).alias(name)
                    for name, type_ in columns
                )
            )
        )
    return reduce(DataFrame.unionAll, groups)


def _why_unread(error: str) -> str:
    """Return why Spark cannot read files, and what to do if it lacks the file system."""
    if "ClassNotFoundException" in error or "No FileSystem for scheme" in error:
        return f"Spark lacks what reads it: give --conf spark.jars.packages={_HADOOP_AWS} for S3"
    return f"Spark cannot read it: {error.partition(_STACK)[0].strip()}"


def ask(spark: SparkSession, folder: str, query: Query, times: TimeRange = ALWAYS) -> pa.Table:
    """Return Spark's answer to a query on the tables in a folder.

    Args:
        spark: the session to run on.
        folder: of the tables.
        query: what to ask.
        times: of the rows that are asked about.

    Raises:
        ReportError: if there are no tables, or the query fails.
    """
    spark = session_with(spark, QUERY_SETTINGS)
    named = [table for table in TABLES.values() if query.may_name(table.name)]
    open_tables(spark, folder, times, named)
    try:
        return ask_spark(spark, query).toArrow()
    except PySparkException as error:
        raise ReportError("query", str(error)) from error
