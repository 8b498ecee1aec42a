"""The run of `kdiag query` and `kdiag report`: tables in, the answer to one question out.

It needs the extra `report`: see `require_report_extra`.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kdiag.clock import ALWAYS, TimeRange
from kdiag.errors import CaptureError
from kdiag.report.engine import Database, holds_tables, open_folder
from kdiag.report.run_log import notes_on
from kdiag_cli.captures.reading import run_on_captures
from kdiag_cli.captures.tables import tables_of
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.captures import CaptureInputs, TableContents
from kdiag_cli.options.report import TableQuestion
from kdiag_cli.output.answer import AnswerFormat, TableAnswer, print_answer
from kdiag_cli.output.terminal import Output, say

_ELSEWHERE: Final = "holds no tables; captures that lie there are read by kdiag pipeline run"


def run(question: TableQuestion, inputs: CaptureInputs, contents: TableContents) -> ExitCode:
    """Print the answer to a question; return the exit code of the program.

    Args:
        question: the question.
        inputs: the captures, or a folder of tables.
        contents: what the tables of captures hold.
    """

    def ask(database: Database) -> None:
        found = database.ask(question.query)
        screen = Output(is_wide=question.is_wide)
        print_answer(
            screen,
            TableAnswer(found.schema.names, database.rows_of(found)),
            question.form,
            command=question.command,
            has_headers=question.has_headers,
            is_csv_safe=question.is_csv_safe,
            wide=question.query.wide,
        )
        screen.flush()
        say(*notes_on(database.runs, question.query, database.unmade))
        if question.query.more and question.form is AnswerFormat.TABLE:
            say(question.query.more)

    return ask_tables(inputs, contents, ask, question.times, question.timeout_ns)


def ask_tables(
    inputs: CaptureInputs,
    contents: TableContents,
    ask: Callable[[Database], None],
    times: TimeRange = ALWAYS,
    timeout_ns: int | None = None,
) -> ExitCode:
    """Ask something of the tables of captures; return the exit code.

    Captures are written as Parquet into a temporary folder first, so that the tables may be larger
    than the memory.

    Args:
        inputs: the captures, or one folder of tables.
        contents: what the tables hold.
        ask: is given the database, prints the answer.
        times: of the rows.
        timeout_ns: the longest it may take, with the reading of captures; None for ever.
    """
    return run_on_captures(lambda: _ask(inputs, contents, ask, times), timeout_ns)


def _ask(
    inputs: CaptureInputs,
    contents: TableContents,
    ask: Callable[[Database], None],
    times: TimeRange,
) -> ExitCode:
    if len(inputs.files) == 1 and holds_tables(inputs.files[0]):
        with open_folder(inputs.files[0], times=times) as database:
            ask(database)
        return ExitCode.DONE
    for each in inputs.files:
        if "://" in each:
            raise CaptureError(each, _ELSEWHERE)
    with tempfile.TemporaryDirectory(prefix="kdiag-tables-") as folder:
        result = tables_of(inputs, Path(folder), contents)
        if not result.is_interrupted:
            result.say_warnings()
            with open_folder(Path(folder), times=times) as database:
                ask(database)
        return result.exit_code
