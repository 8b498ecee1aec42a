"""`kdiag report findings`: what is wrong in captures or tables, without the rest of the page.

It needs the extra `report`: see `require_report_extra`.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from kdiag.clock import TimeRange
from kdiag.exchange.documents.document import DocumentEncoder
from kdiag.findings.finding import Finding
from kdiag.report.engine import Database
from kdiag_cli.captures.more import command_for
from kdiag_cli.captures.reading import CaptureResult, run_on_captures
from kdiag_cli.commands.report.listing import FINDINGS
from kdiag_cli.commands.report.page.judged import Judged
from kdiag_cli.commands.report.page.judging import with_judged
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.captures import CaptureInputs
from kdiag_cli.options.report import AnswerForm
from kdiag_cli.output.answer import AnswerFormat
from kdiag_cli.output.findings import print_findings
from kdiag_cli.output.json_text import print_json
from kdiag_cli.output.result import print_document
from kdiag_cli.output.table.delimited import DelimitedRows
from kdiag_cli.output.terminal import Output, say

_COLUMNS: Final = ("severity", "id", "title", "fix", "more")


def run(
    inputs: CaptureInputs, form: AnswerForm, times: TimeRange, timeout_ns: int | None
) -> ExitCode:
    """Print the findings; return the exit code of the program.

    Args:
        inputs: the captures, or one folder of tables.
        form: how they are printed.
        times: of the rows of tables that are judged.
        timeout_ns: the longest it may take; None for ever.
    """

    def show(_: Database, judged: Judged, read: CaptureResult | None) -> None:
        more = partial(
            command_for,
            files=[] if read is None else inputs.files,
            tables=inputs.files[0] if read is None else "",
        )
        _print(judged, form, more)

    return run_on_captures(lambda: with_judged(inputs, times, show), timeout_ns)


def _print(judged: Judged, form: AnswerForm, more: Callable[[Finding], str]) -> None:
    screen = Output(is_wide=form.is_wide)
    documents = [msgspec.structs.asdict(each) | {"more": more(each)} for each in judged.findings]
    if form.output is AnswerFormat.JSON:
        print_document(screen, f"report {FINDINGS}", documents, warnings=judged.notes)
    elif form.output is AnswerFormat.JSONL:
        for document in documents:
            print_json(screen, DocumentEncoder().encode(document), is_line=True)
    elif form.output is AnswerFormat.CSV:
        rows = DelimitedRows(screen.write, is_safe=form.is_csv_safe)
        if form.has_headers:
            rows.row(_COLUMNS)
        for document in documents:
            rows.row(document[name] for name in _COLUMNS)
    elif judged.findings:
        print_findings(screen, judged.findings, more=more)
    else:
        screen.line("no rule found a problem" if judged.parts else "nothing was judged")
    screen.flush()
    if form.output is not AnswerFormat.JSON:
        say(*judged.notes)
