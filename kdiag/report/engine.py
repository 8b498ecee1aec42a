"""Runs SQL over the tables: in DuckDB, or in any session with Spark's `sql`."""

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeVar

import duckdb
import pyarrow as pa
from pyarrow import dataset

from kdiag.clock import ALWAYS, TimeRange
from kdiag.errors import ReportError
from kdiag.report.arrow import arrow_schema
from kdiag.report.layout import by_keys, files_during
from kdiag.report.parquet import table_file
from kdiag.report.run_log import is_unmade
from kdiag.report.sql_report import SPARK, Query
from kdiag.report.stored_tables import StoredTables
from kdiag.report.tables.catalog import GROUP_TABLES, TABLES, time_column
from kdiag.report.tables.tcp import TCP

if TYPE_CHECKING:
    from kdiag.report.run_log import LoggedRun

T = TypeVar("T")

DEFAULT_BATCH_ROWS: Final = 10_000
_MOST_THREADS: Final = 2
_INTERRUPT_EVERY_S: Final = 0.05

_WILDCARD: Final = re.compile(r"[*?\[]")
_NO_TABLE: Final = re.compile(r"Table with name (\w+) does not exist")
_NO_COLUMN: Final = re.compile(r'(?:Referenced column "|does not have a column named ")(\w+)"')
_DRAWING: Final = re.compile(r"^\s*\^[\^\s~]*$", re.MULTILINE)
"""The line below a quoted query that points at a place in it."""

_NEAR: Final = 0.8
"""How alike two names are of which one may be meant: `note` is not meant by `nope`."""

_COLUMNS: Final = frozenset(each.name for table in TABLES.values() for each in table.columns)
_ONLY_SELECT: Final = "expected one SELECT: a query reads the tables and changes nothing"


class SqlSession(Protocol):
    """A Spark session, as far as it is used here."""

    def sql(self, sqlQuery: str, args: dict[str, Any]) -> Any:  # noqa: N803 - PySpark's name
        """Return the answer to a query."""
        ...


class Database:
    """Tables in DuckDB, closed to everything else.

    A query can read the tables and nothing else: no other file, no extension, no variable of the
    program. What does not fit into memory goes to a temporary folder.

    DuckDB works in a thread of its own: Python handles signals between two of its own steps, and a
    query is one step. So an exception that a signal raises reaches the thread that waits, and ends
    the query.

    Attributes:
        runs: those that have written the tables; none where nobody has noted them.
        unmade: tables that nobody has asked for when these were made: they are empty.
    """

    def __init__(self, memory_limit: str | None = None) -> None:
        """Make an empty database; see `open_folder` and `open_tables`.

        Where memory is limited, so are threads: each of them needs a part of it.
        """
        self._scratch = tempfile.TemporaryDirectory(prefix="kdiag-duckdb-")
        config: dict[str, str | bool | int | float | list[str]] = {
            "temp_directory": self._scratch.name,
            "python_enable_replacements": False,
            "autoload_known_extensions": False,
            "autoinstall_known_extensions": False,
        }
        if memory_limit is not None:
            config["memory_limit"] = memory_limit
            config["threads"] = min(_MOST_THREADS, os.cpu_count() or 1)
        self._connection = duckdb.connect(config=config)
        self._worker = ThreadPoolExecutor(1, "kdiag-duckdb")
        self._connection.execute("SET TimeZone = 'UTC'")
        self._files: set[str] = set()
        self.runs: Sequence[LoggedRun] = ()
        self.unmade = [TCP.name]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add_files(
        self,
        name: str,
        files: Sequence[Path],
        *,
        are_partitions: bool,
        times: TimeRange = ALWAYS,
    ) -> None:
        """Add a table of Parquet files.

        Args:
            name: of the table.
            files: at least one.
            are_partitions: whether `key=value` in their paths is a column, and some files may lack
                columns.
            times: of the rows.

        Raises:
            ReportError: if they cannot be read.
        """
        wanted = files_during(map(str, files), times) or [str(files[0])]
        groups = by_keys(wanted).values() if are_partitions else [wanted]
        views = [f"_{name}_{number}" for number in range(len(groups))]
        try:
            for view, group in zip(views, groups, strict=True):
                paths = [_without_wildcards(file) for file in group]
                self._connection.read_parquet(
                    paths, union_by_name=are_partitions, hive_partitioning=are_partitions
                ).create_view(view)
                # DuckDB checks a path as it was given, and again as it was expanded.
                self._files.update(paths, group)
            self._unite(name, views, times)
            self._note(name)
        except duckdb.Error as error:
            raise ReportError(str(files[0]), f"cannot be read: {error}") from error

    def add_datasets(
        self, name: str, datasets: Sequence[dataset.Dataset], times: TimeRange = ALWAYS
    ) -> None:
        """Add a table of datasets, such as files in an object store.

        Args:
            name: of the table.
            datasets: at least one; some may lack columns.
            times: of the rows.
        """
        views = [f"_{name}_{number}" for number in range(len(datasets))]
        for view, each in zip(views, datasets, strict=True):
            self._connection.register(view, each)
        self._unite(name, views, times)
        self._note(name)

    def _unite(self, name: str, views: Sequence[str], times: TimeRange) -> None:
        """Make a table of the rows of some views."""
        parts = " UNION ALL BY NAME ".join(f'FROM "{view}"' for view in views)
        rows = f"FROM ({parts}) WHERE {_during(time_column(name), times)}"
        self._connection.execute(f'CREATE VIEW "{name}" AS {rows}')

    def add_table(self, name: str, table: pa.Table) -> None:
        """Add a table in memory."""
        self._connection.register(name, table)
        self._note(name)

    def _note(self, name: str) -> None:
        """Note that a table was made."""
        self.unmade = [each for each in self.unmade if each != name]

    def lock(self) -> Self:
        """Close the database to everything but its tables for good, and return it."""
        for each in self.unmade:  # reports join it
            self._connection.register(each, arrow_schema(TABLES[each]).empty_table())
        execute = self._connection.execute
        execute("SET allowed_paths = $files", {"files": sorted(self._files)})
        execute("SET enable_external_access = false")
        execute("SET lock_configuration = true")
        return self

    def close(self) -> None:
        """Close the database and remove its temporary folder."""
        self._worker.shutdown()
        self._connection.close()
        self._scratch.cleanup()

    def ask(self, query: Query, batch_rows: int = DEFAULT_BATCH_ROWS) -> pa.RecordBatchReader:
        """Return the answer to a query as a stream of record batches.

        Args:
            query: in DuckDB's dialect.
            batch_rows: the most rows of a batch.

        Raises:
            ReportError: if it is not a single SELECT, or DuckDB refuses it. `rows_of` raises the
                same for errors while the answer is read.
        """
        return self._interruptible(lambda: self._ask(query, batch_rows))

    def rows_of(self, answer: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        """Yield the batches of an answer of this database.

        Raises:
            ReportError: as the function `rows_of`.
        """
        rows = rows_of(answer)
        while (batch := self._interruptible(lambda: next(rows, None))) is not None:
            yield batch

    def _interruptible(self, work: Callable[[], T]) -> T:
        """Return what DuckDB does in its thread; end it if anything is raised while it does."""
        future = self._worker.submit(work)
        try:
            return future.result()
        except BaseException:
            # an interrupt is lost on a query that its thread has not begun yet
            while not (future.cancel() or future.done()):
                self._connection.interrupt()
                wait([future], _INTERRUPT_EVERY_S)
            raise

    def _ask(self, query: Query, batch_rows: int) -> pa.RecordBatchReader:
        try:
            statements = duckdb.extract_statements(query.sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise ReportError("query", _ONLY_SELECT)
            answer = self._connection.sql(query.sql, params=query.values or None)
            return answer.to_arrow_reader(batch_rows)
        except duckdb.Error as error:
            raise _refusal(error) from error


def open_folder(
    folder: Path | str, memory_limit: str | None = None, times: TimeRange = ALWAYS
) -> Database:
    """Return the tables in a folder of Parquet; they may be larger than memory.

    Args:
        folder: has `exchanges.parquet` and so on, or folders `exchanges` and so on with Parquet
            files at any depth, also partitioned as `key=value`. If it has a log of runs, only files
            of runs that are complete count. A path, or a URI such as `s3://bucket/tables`.
        memory_limit: DuckDB's limit, such as `2GB`; by default 80 % of the machine.
        times: of the rows; files of other days are not read.

    Raises:
        ReportError: if there are no tables, or a file in the log is missing.
    """
    stored = StoredTables(str(folder))
    files_by_name = {name: stored.files(name) for name in TABLES}
    if not files_by_name["exchanges"]:
        has_log = stored.has_log
        why = "no run has written exchanges" if has_log else "there is no exchanges.parquet"
        raise ReportError(str(folder), f"holds no tables: {why}")
    database = Database(memory_limit)
    database.runs = stored.runs
    try:
        for name, files in files_by_name.items():
            if not files:
                if stored.has_log and not is_unmade(stored.runs, name):
                    database.add_table(name, arrow_schema(TABLES[name]).empty_table())
                continue
            if stored.is_local:
                is_whole = files == [table_file(Path(stored.root), name).name]
                paths = [Path(stored.root, file) for file in files]
                database.add_files(name, paths, are_partitions=not is_whole, times=times)
            else:
                database.add_datasets(name, stored.datasets(name, files, times), times)
    except ReportError:
        database.close()
        raise
    return database.lock()


def holds_tables(folder: Path | str) -> bool:
    """Return whether a folder is one of tables, for `open_folder`."""
    stored = StoredTables(str(folder))
    return stored.has_log or bool(stored.files("exchanges"))


def open_tables(tables: Mapping[str, pa.Table], memory_limit: str | None = None) -> Database:
    """Return a database of tables in memory, by name."""
    database = Database(memory_limit)
    for name, table in tables.items():
        database.add_table(name, table)
    return database.lock()


def rows_of(answer: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Yield the batches of an answer.

    Raises:
        ReportError: if a value cannot be converted, or memory or disk is full.
    """
    try:
        yield from answer
    except (pa.ArrowException, duckdb.Error, OSError) as error:
        raise ReportError("query", str(error)) from error


def ask_spark(session: SqlSession, query: Query) -> Any:
    """Return Spark's answer, a DataFrame; the tables are views there by the same names.

    Raises:
        ReportError: if the query cannot be translated to Spark SQL.
    """
    return session.sql(query.text(SPARK), args=query.values)


def _during(column: str, times: TimeRange) -> str:
    """Return the condition on the time of rows."""
    bounds = zip((">=", "<"), times, strict=True)
    return " AND ".join(f"{column} {sign} {ns}" for sign, ns in bounds if ns is not None) or "true"


def _without_wildcards(file: str) -> str:
    """Return a path with its wildcards escaped for DuckDB."""
    return _WILDCARD.sub(r"[\g<0>]", file)


def _refusal(error: duckdb.Error) -> ReportError:
    """Return DuckDB's refusal in one line, without its drawing and its guesses at tables."""
    why = str(error)
    missing = _NO_TABLE.search(why)
    column = _NO_COLUMN.search(why)
    if column is not None and column[1] in _COLUMNS:
        what = "another table has it (kdiag tables), or an earlier release has written these tables"
        return ReportError("query", f"there is no column {column[1]} here: {what}: make them again")
    near = "" if column is None else _nearest(column[1], _COLUMNS)
    if column is not None and near:
        what = f"{near}kdiag tables TABLE lists the columns of a table"
        return ReportError("query", f"there is no column {column[1]}: {what}")
    if missing is None:
        lines = (line.strip() for line in _DRAWING.sub("", why).splitlines())
        return ReportError("query", "; ".join(line for line in lines if line))
    return missing_table(missing[1])


def _nearest(name: str, names: Iterable[str]) -> str:
    """Ask for the name that was meant, if one begins or is spelt alike."""
    known = sorted(names)
    alike = [each for each in known if each.startswith(name.lower())]
    near = alike or get_close_matches(name.lower(), known, 1, _NEAR)
    return f"did you mean {' or '.join(near[:3])}? " if near else ""


def missing_table(name: str) -> ReportError:
    """Return that there is no such table, and why."""
    if name == "records":
        what = "it is written only when asked for (--values)"
    elif name in GROUP_TABLES:
        what = (
            "no run has seen a group rebalance (older releases, and streams of theirs, write none)"
        )
    elif name in TABLES:
        what = "an earlier release has written these tables: make them again"
    else:
        what = f"{_nearest(name, TABLES)}kdiag tables lists the tables"
    return ReportError("query", f"there is no table {name}: {what}")
