"""Which report, with which parameters: what `kdiag report` is told, checked; and the list."""

from typing import TYPE_CHECKING

import typer

from kdiag.errors import ReportError
from kdiag.report.sql_report import Query, Report, load_report, report_names
from kdiag_cli.commands.report.answer import AnswerFormat
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.result import print_document, print_table
from kdiag_cli.output.terminal import Output, say

if TYPE_CHECKING:
    from typing import Any


def choose(name: str, settings: list[str]) -> Query:
    """Return a report's query with parameters given as `key=value`.

    Ends the program, with the reason on stderr, if there is no such report or parameter.
    """
    values = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise typer.BadParameter(f"{setting!r} is not key=value", param_hint="'-p'")
        values[key] = value
    try:
        return load_report(name).query(values)
    except ReportError as error:
        say(str(error))
        raise typer.Exit(ExitCode.USAGE) from None


def print_sql(query: Query, dialect: str) -> None:
    """Print a query in a dialect, its parameters as a comment above it."""
    if dialect != "duckdb":
        from kdiag_cli.captures.tables import require_report_extra  # noqa: PLC0415 - sqlglot

        require_report_extra()
    screen = Output()
    for key, value in query.values.items():
        screen.line(f"-- {key} = {value!r}")
    screen.line(query.text(dialect))
    screen.flush()


def print_reports(form: AnswerFormat, *, has_headers: bool) -> None:
    """Print what reports there are."""
    reports = [load_report(name) for name in report_names()]
    screen = Output()
    if form in (AnswerFormat.JSON, AnswerFormat.JSONL):
        print_document(screen, "report", [_document(each) for each in reports])
    else:
        rows = [(each.name, _parameters(each), each.question) for each in reports]
        print_table(screen, ("REPORT", "PARAMETERS", "QUESTION"), rows, has_headers=has_headers)
    screen.flush()


def _parameters(report: Report) -> str:
    return " ".join(f"{each.name}={each.default}" for each in report.parameters)


def _document(report: Report) -> "dict[str, Any]":
    return {
        "report": report.name,
        "question": report.question,
        "notes": report.notes,
        "parameters": [each._asdict() for each in report.parameters],
    }
