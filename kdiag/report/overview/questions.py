"""Questions about tables whose answers are few rows, each a file of SQL.

    ask(database, "span")                          [{"exchanges": 233, "first_ns": ...}]
    ask(database, "error_bins", width_ns=10**9)    a row for each problem and second

A file looks like that of a report (`kdiag.report.sql_report`), in DuckDB's dialect alone.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple, TypeAlias

from kdiag.report.engine import Database
from kdiag.report.sql_report import Report, load_report, parse_report

Row: TypeAlias = dict[str, Any]
"""The values of a row by the names of their columns."""

OVERVIEW: Final = "kdiag.report.overview"
"""The package whose folder `sql` has the questions of an overview."""

_STREAMED_ROWS: Final = 1_000
"""At once: as values of Python, rows with lists take much more than in columns."""


class ReportAnswer(NamedTuple):
    """The first rows of a report's answer.

    Attributes:
        report: the question.
        columns: their names.
        rows: at most as many as were wanted.
        left_out: how many more there are.
    """

    report: Report
    columns: tuple[str, ...]
    rows: list[Row]
    left_out: int


@cache
def question(name: str, package: str = OVERVIEW) -> Report:
    """Return a question by the name of its file in the folder `sql` of a package."""
    file = files(package) / "sql" / f"{name}.sql"
    return parse_report(name, file.read_text(encoding="utf-8"))


def ask(database: Database, name: str, package: str = OVERVIEW, /, **values: Any) -> list[Row]:
    """Return the answer to a question.

    Args:
        database: the tables.
        name: of the question.
        package: whose question it is.
        values: of its parameters; the others have their defaults.

    Raises:
        ReportError: if a table is missing or memory is full.
    """
    return [*rows_of(database, name, package, **values)]


def left_out_of(rows: Sequence[Row]) -> int:
    """Return how many rows a bound has left out; each tells how many there are (`all_rows`)."""
    return rows[0]["all_rows"] - len(rows) if rows else 0


def rows_of(
    database: Database, name: str, package: str = OVERVIEW, /, **values: Any
) -> Iterator[Row]:
    """Yield the answer to a question row by row; ask nothing else meanwhile.

    Args:
        database: the tables.
        name: of the question.
        package: whose question it is.
        values: of its parameters; the others have their defaults.

    Raises:
        ReportError: as `ask`.
    """
    query = question(name, package).query()
    answer = database.ask(query._replace(values=query.values | values), _STREAMED_ROWS)
    for batch in database.rows_of(answer):
        yield from batch.to_pylist()


def ask_report(database: Database, name: str, most: int) -> ReportAnswer:
    """Return the first rows of a report.

    Args:
        database: the tables.
        name: of the report, with its defaults as parameters.
        most: how many rows.

    Raises:
        ReportError: as `ask`.
    """
    report = load_report(name)
    answer = database.ask(report.query())
    rows: list[Row] = []
    count = 0
    for batch in database.rows_of(answer):
        rows += batch.slice(0, max(0, most - len(rows))).to_pylist()
        count += batch.num_rows
    return ReportAnswer(report, tuple(answer.schema.names), rows, count - len(rows))
