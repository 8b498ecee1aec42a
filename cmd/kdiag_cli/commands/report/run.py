"""The output of `kdiag query` and `kdiag report`: answers, SQL of reports, the list of reports."""

from typing import TYPE_CHECKING

from kdiag.report.sql_report import Query, Report, load_report, report_names
from kdiag_cli.captures.tables import require_report_extra
from kdiag_cli.output.answer import Answer, AnswerFormat, print_answer
from kdiag_cli.output.result import print_document
from kdiag_cli.output.tables import print_table
from kdiag_cli.output.terminal import Output

if TYPE_CHECKING:
    from typing import Any

    from kdiag.report.engine import Database


def print_sql(query: Query, dialect: str) -> None:
    """Print a query in a dialect, its parameters as a comment above it."""
    if dialect != "duckdb":
        require_report_extra()
    screen = Output()
    for key, value in query.values.items():
        screen.line(f"-- {key} = {value!r}")
    screen.line(query.text(dialect))
    screen.flush()


def print_reports(form: AnswerFormat, *, has_headers: bool, is_wide: bool = False) -> None:
    """Print what reports there are."""
    reports = [load_report(name) for name in report_names()]
    screen = Output(is_wide=is_wide)
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


def print_result(  # noqa: PLR0913 - two are only passed on
    query: Query,
    form: AnswerFormat,
    database: "Database",
    *,
    command: str,
    has_headers: bool,
    is_wide: bool,
) -> None:
    """Print the answer of a database to a question.

    Raises:
        ReportError: if the question is wrong.
    """
    from kdiag.report.engine import rows_of  # noqa: PLC0415 - duckdb is an extra

    found = database.ask(query)
    screen = Output(is_wide=is_wide)
    answer = Answer(found.schema.names, rows_of(found))
    print_answer(screen, answer, form, command=command, has_headers=has_headers, wide=query.wide)
    screen.flush()
