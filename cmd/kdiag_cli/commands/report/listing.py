"""The reports themselves, not their answers: `kdiag report --list` and `--sql`."""

from typing import Any, Final

from kdiag.report.sql_report import Query, Report, load_report, report_names
from kdiag_cli.options.results import require_report_extra
from kdiag_cli.output.answer import AnswerFormat
from kdiag_cli.output.result import print_document
from kdiag_cli.output.table.delimited import DelimitedRows
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import Output

FINDINGS: Final = "findings"
"""The report that is judged by rules, and not by SQL alone."""

_QUESTION: Final = "What is wrong, for which clients and brokers, and what to do about it?"
_NOTES: Final = "The worst first, as `kdiag decode --summary` has it, each with its evidence."
_HEADERS: Final = ("report", "parameters", "question")


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
    reports = [Report(FINDINGS, _QUESTION, _NOTES, (), ""), *reports]
    screen = Output(is_wide=is_wide)
    if form in (AnswerFormat.JSON, AnswerFormat.JSONL):
        print_document(screen, "report", [_document(each) for each in reports])
    else:
        rows = [(each.name, _parameters(each), each.question) for each in reports]
        if form is AnswerFormat.CSV:
            lines = DelimitedRows(screen.write)
            for row in (_HEADERS, *rows) if has_headers else rows:
                lines.row(row)
        else:
            headers = [each.upper() for each in _HEADERS]
            print_table(screen, headers, rows, has_headers=has_headers)
    screen.flush()


def _parameters(report: Report) -> str:
    return " ".join(f"{each.name}={each.default}" for each in report.parameters)


def _document(report: Report) -> dict[str, Any]:
    return {
        "report": report.name,
        "question": report.question,
        "notes": report.notes,
        "parameters": [each._asdict() for each in report.parameters],
    }
