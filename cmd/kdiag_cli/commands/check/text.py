"""The rows of a check, for people and for programs; and its worst, for Nagios.

    ok       TCP            0.1 ms  localhost:9092 (127.0.0.1)
    error    Listeners      0.2 ms  broker 2 at localhost:9093: TCP: connection refused ...

On a terminal, rows of one stage that say the same are one line.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from kdiag.diagnosis.check.report import (
    NOT_REACHED,
    CheckPart,
    CheckRow,
    CheckStage,
    CheckStatus,
    listed,
)
from kdiag.findings.finding import worst
from kdiag_cli.exit_code import exit_code_of
from kdiag_cli.live.plugin import PluginResult, PluginStatus, status_of, worst_text
from kdiag_cli.output.result import milliseconds
from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import BOLD, DIM, GREEN, RED, YELLOW, Output

_SHOWN_TARGETS: Final = 8
_COLOURS: Final[dict[str, int]] = {
    CheckStatus.ERROR: RED,
    CheckStatus.WARNING: YELLOW,
    CheckStatus.INFO: BOLD,
    CheckStatus.OK: GREEN,
    CheckStatus.SKIPPED: DIM,
}
_COLUMNS: Final = (
    TableColumn("STATUS", colours=_COLOURS),
    TableColumn("STAGE"),
    TableColumn("TIME", 1),
    TableColumn("WHAT"),
)


def document(row: CheckRow) -> dict[str, Any]:
    """Return a row in the shape that `--output json` promises."""
    return {
        "stage": row.stage,
        "status": row.status,
        "target": row.target or None,
        "took_ms": milliseconds(row.took_ns),
        "detail": row.detail,
        **row.facts,
    }


def print_rows(output: Output, rows: Sequence[CheckRow], *, has_headers: bool = True) -> None:
    """Print the rows: in few lines on a terminal, one by one in a pipe."""
    if not output.is_terminal:
        headers = ("STATUS", "STAGE", "MS", "TARGET", "DETAIL")
        cells = [
            (row.status, row.stage, milliseconds(row.took_ns), row.target or None, row.detail)
            for row in rows
        ]
        print_table(output, headers, cells, has_headers=has_headers)
        return
    print_table(output, _COLUMNS, _lines(rows), has_headers=has_headers)


def _lines(rows: Sequence[CheckRow]) -> Iterator[tuple[str, str, str, str]]:
    """Yield status, stage, time and text; rows that say the same are one line."""
    missed = [row.stage for row in rows if row.detail == NOT_REACHED]
    rows = [row for row in rows if row.detail != NOT_REACHED]
    for (stage, status, detail), same in groupby(rows, _sameness):
        alike = list(same)
        targets = list(dict.fromkeys(row.target for row in alike if row.target))
        times = [row.took_ns for row in alike if row.took_ns is not None]
        what = ": ".join(filter(None, (listed(targets, _SHOWN_TARGETS), detail)))
        yield status, stage, _time(max(times, default=None)), what
    if missed:
        yield CheckStatus.SKIPPED, "", "", f"{NOT_REACHED}: {', '.join(missed)}"


def _sameness(row: CheckRow) -> tuple[str, str, str]:
    return row.stage, row.status, row.detail


def _time(took_ns: int | None) -> str:
    took_ms = milliseconds(took_ns)
    return "" if took_ms is None else f"{took_ms:.1f} ms"


def plugin_result(report: CheckPart) -> PluginResult:
    """Return what a plugin says of a report."""
    return PluginResult(plugin_status(report), summary(report))


def plugin_status(report: CheckPart) -> PluginStatus:
    """Return the status of a report."""
    code = exit_code_of(report.problems, is_partial=report.is_partial)
    return status_of(code, worst(report.findings))


def summary(report: CheckPart) -> str:
    """Return the worst finding of a report, or the facts of a healthy cluster."""
    text = worst_text(report.findings)
    if text is not None:
        return text
    rows = [each for each in report.rows if each.stage is CheckStage.METADATA]
    return next((each.detail for each in rows if each.status is CheckStatus.OK), "no answer")
