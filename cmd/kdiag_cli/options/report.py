"""The options of commands that answer reports: which one, with which parameters, written how."""

from enum import StrEnum
from typing import Annotated, NamedTuple

import typer

from kdiag.clock import ALWAYS, TimeRange
from kdiag.errors import ReportError
from kdiag.report.sql_report import Query, load_report
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.quantities import moment_ns
from kdiag_cli.output.answer import AnswerFormat
from kdiag_cli.output.terminal import say

AnswerOutput = Annotated[
    AnswerFormat, typer.Option("--output", "-o", help="A table for people, or for programs.")
]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--parameter", "-p", metavar="KEY=VALUE", help="Set a parameter of the report."),
]
RowsFrom = Annotated[
    int | None,
    typer.Option(
        "--from",
        metavar="WHEN",
        help="Rows from then on: RFC 3339, or -1h; older days are not read.",
        parser=moment_ns,
    ),
]
RowsTo = Annotated[
    int | None,
    typer.Option("--to", metavar="WHEN", help="Rows from before then alone.", parser=moment_ns),
]


class Dialect(StrEnum):
    """Whose SQL a query is in."""

    DUCKDB = "duckdb"
    SPARK = "spark"


class AnswerForm(NamedTuple):
    """How an answer is written.

    Attributes:
        output: a table, JSON, JSON lines or CSV.
        has_headers: whether the names of the columns are written.
        is_wide: whether a terminal shows all of it.
        is_csv_safe: whether no cell of CSV may begin like a formula.
    """

    output: AnswerFormat
    has_headers: bool = True
    is_wide: bool = False
    is_csv_safe: bool = False


class TableQuestion(NamedTuple):
    """One question about tables, and how its answer is written.

    Attributes:
        query: the question.
        form: a table, JSON, JSON lines or CSV.
        command: the name that a JSON document bears.
        has_headers: whether the names of the columns are written.
        is_wide: whether a table on a terminal shows all its columns.
        is_csv_safe: whether no cell of CSV may begin like a formula.
        times: of the rows that are asked about.
        timeout_ns: the longest that the answer may take, with the reading of captures; None for
            ever.
    """

    query: Query
    form: AnswerFormat
    command: str
    has_headers: bool
    is_wide: bool = False
    is_csv_safe: bool = False
    times: TimeRange = ALWAYS
    timeout_ns: int | None = None


def read_query(name: str, parameters: list[str]) -> Query:
    """Return the query of a report with parameters given as `key=value`.

    Ends the program, with the reason on stderr, if the report or a parameter is unknown.
    """
    values = {}
    for parameter in parameters:
        key, equals, value = parameter.partition("=")
        if not equals:
            raise typer.BadParameter(f"{parameter!r} is not key=value", param_hint="'-p'")
        values[key] = value
    try:
        return load_report(name).query(values)
    except ReportError as error:
        say(str(error))
        raise typer.Exit(ExitCode.USAGE) from None
