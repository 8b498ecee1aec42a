"""The tables as Delta or Iceberg: Spark writes them, with jars that its user brings.

    delta      DIR/exchanges, ...            or, with a catalog, CATALOG.exchanges, ...
    iceberg                                  CATALOG.exchanges, ...

Each is partitioned by `date`, and has `capture_file` and `run`. A run replaces its own rows in one
commit of each table's format. Between the first of these commits and the last, and where a driver
was killed then, the run's entry in the log of the folder says that it is not complete, and kdiag's
readers leave its rows out. The rows of a stream's groups, which each batch replaces, are there all
the time; those that stay have the names of parts of their run in its stead.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from kdiag.clock import NS_PER_S, TimeRange
from kdiag.errors import ReportError
from kdiag.report.run_log import TableStore
from kdiag.report.tables.catalog import TABLES, time_column
from kdiag.report.tables.column import Table
from kdiag.report.uri import canonical, is_folder

MORE: Final = (("capture_file", "string"), ("run", "string"), ("date", "date"))
"""The columns that tables have besides their own."""

_LOG: Final = "_delta_log"
_EXCEPTIONS: Final = ("java.", "org.", "io.delta")
"""How the line begins in which Java says what was wrong, behind Python's about the call."""


def ddl_of(table: Table) -> str:
    """Return the columns of a table with those that it has besides, as Spark's DDL."""
    return ", ".join((table.ddl, *(f"{name} {type_}" for name, type_ in MORE)))


class LakeTables:
    """The tables of a folder's runs, as Delta or Iceberg."""

    def __init__(self, spark: SparkSession, folder: str, store: TableStore) -> None:
        """Look at nothing yet.

        Args:
            spark: a session with the jars of the format and, for a catalog, its settings.
            folder: of the runs' log and, without a catalog, of the tables.
            store: the format and the catalog.
        """
        self._spark = spark
        self._folder = folder
        self._store = store

    def require(self) -> None:
        """Require that Spark writes and reads such tables, before there is work to lose.

        Raises:
            ReportError: if it does not; it says what is missing.
        """
        table = TABLES["exchanges"]
        try:
            self._create(table)
            self._spark.table(self._identifier(table.name)).limit(1).collect()
        except (PySparkException, Py4JError) as error:
            raise ReportError(self._place, self._why(error)) from error

    def replace(self, table: Table, runs: Sequence[str], rows: DataFrame | None) -> None:
        """Replace the rows of some runs in a table, by one commit.

        Args:
            table: which one.
            runs: what those rows have in the column `run`.
            rows: the new ones; None if there are none.

        Raises:
            ReportError: if Spark cannot.
        """
        is_there = self._has(table.name)
        if rows is None and not is_there:
            return
        name = self._identifier(table.name)
        with self._named(table.name):
            if is_there:
                self._add_columns(table)
            else:
                self._create(table)
            new = self._spark.createDataFrame([], ddl_of(table)) if rows is None else rows
            new.writeTo(name).overwrite(f.col("run").isin(*runs))

    def count(self, table: Table, runs: Sequence[str]) -> int:
        """Return how many rows of some runs a table has."""
        with self._named(table.name):
            if not self._has(table.name):
                return 0
            rows = self._spark.table(self._identifier(table.name))
            return rows.where(f.col("run").isin(*runs)).count()

    def read(self, table: Table, runs: Iterable[str], times: TimeRange) -> DataFrame:
        """Return the rows of some runs; columns that an older table lacks are null.

        Args:
            table: which one; it is empty if no run has written it.
            runs: which count.
            times: of the rows; those of other days are not read.

        Raises:
            ReportError: if Spark cannot.
        """
        with self._named(table.name):
            if not self._has(table.name):
                return self._spark.createDataFrame([], ddl_of(table))
            rows = self._spark.table(self._identifier(table.name))
            known = {*rows.columns}
            rows = rows.where(f.col("run").isin(*runs)).where(_during(table.name, times))
            return rows.select(
                *(
                    (f.col(name) if name in known else f.lit(None)).cast(type_).alias(name)
                    for name, type_ in [*((e.name, e.type) for e in table.columns), *MORE]
                )
            )

    @property
    def _place(self) -> str:
        return self._store.catalog or self._folder

    def _identifier(self, table: str) -> str:
        """Return the name of a table for Spark."""
        if self._store.catalog:
            return ".".join(f"`{part}`" for part in (*self._store.catalog.split("."), table))
        path = canonical(self._folder).replace("s3://", "s3a://", 1)  # Hadoop's scheme
        return f"{self._store.format}.`{path.replace('`', '``')}/{table}`"

    def _has(self, table: str) -> bool:
        if self._store.catalog:
            return self._spark.catalog.tableExists(self._identifier(table))
        return is_folder(f"{self._folder}/{table}/{_LOG}")

    def _create(self, table: Table) -> None:
        """Create a table, and the namespace that it is in."""
        names = self._store.catalog.split(".")
        is_catalog = self._spark.conf.get(f"spark.sql.catalog.{names[0]}", None) is not None
        if self._store.catalog and len(names) > is_catalog:
            namespace = ".".join(f"`{part}`" for part in names)
            self._spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
        self._spark.sql(
            f"CREATE TABLE IF NOT EXISTS {self._identifier(table.name)} ({ddl_of(table)}) "
            f"USING {self._store.format} PARTITIONED BY (date)"
        )

    def _add_columns(self, table: Table) -> None:
        """Add the columns that a table of an older release lacks."""
        name = self._identifier(table.name)
        known = {*self._spark.table(name).columns}
        new = [f"{each.name} {each.type}" for each in table.columns if each.name not in known]
        if new:
            self._spark.sql(f"ALTER TABLE {name} ADD COLUMNS ({', '.join(new)})")

    @contextmanager
    def _named(self, table: str) -> Iterator[None]:
        """Name the table where Spark fails."""
        try:
            yield
        except (PySparkException, Py4JError) as error:
            raise ReportError(f"{self._place}: {table}", self._why(error)) from error

    def _why(self, error: Exception) -> str:
        """Return why Spark failed, and what to do if that is for lack of jars."""
        lines = [line.strip(": \t") for line in str(error).splitlines()]
        told = (line for line in lines if line.startswith(_EXCEPTIONS))
        reason = next(told, None) or next(filter(None, lines), type(error).__name__)
        version = self._spark.version
        form = self._store.format
        return (
            f"Spark {version} does not serve {form} tables: {reason.rstrip('.')}. Give jars of "
            f"{form} that are made for Spark {version} by --packages or --jars, and "
            "the settings of a catalog by --conf (kdiag help fleet)"
        )


def _during(table: str, times: TimeRange) -> str:
    """Return the condition on the time of rows, which tells their days as well."""
    column = time_column(table)
    parts = ["true"]
    if times.from_ns is not None:
        parts += [f"{column} >= {times.from_ns}", f"date >= DATE '{_day(times.from_ns)}'"]
    if times.to_ns is not None:
        parts += [f"{column} < {times.to_ns}", f"date <= DATE '{_day(times.to_ns)}'"]
    return " AND ".join(parts)


def _day(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // NS_PER_S, UTC).date().isoformat()
