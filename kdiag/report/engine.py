"""Where questions about tables are answered: in DuckDB, or in whatever has Spark's `sql`."""

import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, Self

import duckdb
import pyarrow as pa

from kdiag.errors import ReportError
from kdiag.report.catalog import TABLES
from kdiag.report.parquet_tables import table_file
from kdiag.report.sql_report import SPARK, Query

DEFAULT_BATCH_ROWS: Final = 10_000

_WILDCARD: Final = re.compile(r"[*?\[]")
_ONLY_SELECT: Final = "expected one SELECT: a query reads the tables and changes nothing"


class SqlSession(Protocol):
    """What a Spark session can do."""

    def sql(self, sqlQuery: str, args: dict[str, Any]) -> Any:  # noqa: N803 - PySpark's name
        """Return the answer to a question."""
        ...


class Database:
    """Tables in DuckDB, closed to everything else.

    Whoever asks may read the tables and nothing else: no file, no extension, no variable of the
    program. What does not fit into memory goes to a temporary folder.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, scratch: Any) -> None:
        """Take a connection in which the tables are views; see `open_folder`, `open_tables`."""
        self._connection = connection
        self._scratch = scratch

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget the tables."""
        self._connection.close()
        self._scratch.cleanup()

    def ask(self, query: Query, batch_rows: int = DEFAULT_BATCH_ROWS) -> pa.RecordBatchReader:
        """Return the answer to a question as a stream of record batches.

        Args:
            query: in DuckDB's dialect.
            batch_rows: the most rows of a batch.

        Raises:
            ReportError: if it is no single SELECT, or DuckDB refuses it. What goes wrong later,
                while the answer is read, `rows_of` turns into one too.
        """
        try:
            statements = duckdb.extract_statements(query.sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise ReportError("query", _ONLY_SELECT)
            answer = self._connection.sql(query.sql, params=query.values or None)
            return answer.to_arrow_reader(batch_rows)
        except duckdb.Error as error:
            raise _refusal(error) from error


def open_folder(folder: Path, memory_limit: str | None = None) -> Database:
    """Return the tables in a folder of Parquet, which need not fit into memory.

    Args:
        folder: has `exchanges.parquet` and so on, or folders `exchanges` and so on with Parquet
            files at any depth, also partitioned as `key=value`.
        memory_limit: what DuckDB may take, such as `2GB`; 80 % of the machine by default.

    Raises:
        ReportError: if there are no tables.
    """
    folder = folder.resolve()
    if not holds_tables(folder):
        raise ReportError(str(folder), "holds no tables: there is no exchanges.parquet")
    connection, scratch = _connect(memory_limit)
    database = Database(connection, scratch)
    try:
        for name in TABLES:
            files = [_without_wildcards(file) for file in _files(folder, name)]
            if files:
                is_partitioned = not table_file(folder, name).is_file()
                source = connection.read_parquet(
                    files, union_by_name=is_partitioned, hive_partitioning=is_partitioned
                )
                source.create_view(name)
    except duckdb.Error as error:
        database.close()
        raise ReportError(str(folder), f"cannot be read: {error}") from error
    _lock(connection, folder)
    return database


def holds_tables(folder: Path) -> bool:
    """Return whether `open_folder` finds tables in a folder."""
    return bool(_files(folder, "exchanges"))


def open_tables(tables: Mapping[str, pa.Table], memory_limit: str | None = None) -> Database:
    """Return tables that are in memory, by name."""
    connection, scratch = _connect(memory_limit)
    for name, table in tables.items():
        connection.register(name, table)
    _lock(connection, None)
    return Database(connection, scratch)


def ask_spark(session: SqlSession, query: Query) -> Any:
    """Return the answer of Spark: a DataFrame; the tables are views there by the same names.

    Raises:
        ReportError: if the question cannot be said in Spark SQL.
    """
    return session.sql(query.text(SPARK), args=query.values)


def _files(folder: Path, name: str) -> list[Path]:
    """Return the file of a table, or the files that it is partitioned into."""
    if table_file(folder, name).is_file():
        return [table_file(folder, name)]
    return sorted(file for file in (folder / name).rglob("*.parquet") if file.is_file())


def _without_wildcards(file: Path) -> str:
    """Return a path in which DuckDB finds nothing to expand."""
    return _WILDCARD.sub(r"[\g<0>]", str(file))


def _connect(
    memory_limit: str | None,
) -> tuple[duckdb.DuckDBPyConnection, "tempfile.TemporaryDirectory[str]"]:
    scratch = tempfile.TemporaryDirectory(prefix="kdiag-duckdb-")
    config: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": scratch.name,
        "python_enable_replacements": False,
        "autoload_known_extensions": False,
        "autoinstall_known_extensions": False,
    }
    if memory_limit is not None:
        config["memory_limit"] = memory_limit
    connection = duckdb.connect(config=config)
    connection.execute("SET TimeZone = 'UTC'")
    return connection, scratch


def _lock(connection: duckdb.DuckDBPyConnection, folder: Path | None) -> None:
    """Close the database to all files but those of its tables, for good."""
    if folder is not None:
        # The check is made of the path as it was given, and again of what it was expanded to.
        folders = sorted({f"{folder}/", f"{_without_wildcards(folder)}/"})
        connection.execute("SET allowed_directories = $folders", {"folders": folders})
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _refusal(error: duckdb.Error) -> ReportError:
    why = str(error)
    if "Table with name records does not exist" in why:
        why = f"there is no table records: it is written only when asked for (--values)\n{why}"
    return ReportError("query", why)


def rows_of(answer: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Yield the batches of an answer.

    Raises:
        ReportError: DuckDB cannot go on, for a value has no such form or there is no room.
    """
    try:
        yield from answer
    except (pa.ArrowException, duckdb.Error, OSError) as error:
        raise ReportError("query", str(error)) from error
