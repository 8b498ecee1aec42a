"""The run of `kdiag diff`: two captures or folders of tables in, what differs out.

It needs the extra `report`: see `require_report_extra`.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from kdiag.errors import CaptureError
from kdiag.report.difference.comparison import CaptureComparison, compare
from kdiag.report.difference.measured import MeasuredCapture, measure
from kdiag.report.engine import Database, holds_tables, open_folder
from kdiag_cli.captures.reading import run_on_captures
from kdiag_cli.captures.tables import tables_of
from kdiag_cli.commands.report.diff.document import comparison_document
from kdiag_cli.commands.report.diff.page import write_diff_page
from kdiag_cli.commands.report.diff.rows import COLUMNS, change_rows, verdict_text
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.captures import CaptureInputs, TableContents
from kdiag_cli.output.pages.chart_script import ChartScript
from kdiag_cli.output.result import ResultFormat, print_document
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import Output, say

_MEMORY_LIMIT: Final = "256MB"
_CONTENTS: Final = TableContents(bodies=True)


class DiffOptions(NamedTuple):
    """The options of `kdiag diff`, validated.

    Attributes:
        before, after: what is compared.
        inputs: how captures are read, without files.
        least_change: by which part a quantity must change to count.
        fails_on_difference: whether a difference makes the exit code 1.
        html: the page; None for none.
        output: how the comparison is written.
        has_headers: whether the names of the columns are written.
        is_wide: whether a table on a terminal shows all its columns.
    """

    before: str
    after: str
    inputs: CaptureInputs
    least_change: float
    fails_on_difference: bool
    html: Path | None
    output: ResultFormat
    has_headers: bool
    is_wide: bool


def run(options: DiffOptions) -> ExitCode:
    """Compare, and print what differs; return the exit code of the program."""
    return run_on_captures(lambda: _run(options))


def _run(options: DiffOptions) -> ExitCode:
    script = None if options.html is None else ChartScript()
    try:
        codes: list[ExitCode] = []
        sides: list[MeasuredCapture] = []
        for source in (options.before, options.after):
            with _opened(source, options.inputs, codes) as database:
                if database is None:
                    return ExitCode.INTERRUPTED
                sides.append(measure(database))
        comparison = compare(sides[0], sides[1], options.least_change)
        _print(options, sides, comparison)
        if options.html is not None and script is not None:
            names = (Path(options.before).name, Path(options.after).name)
            write_diff_page(options.html, names, sides, comparison, script.text())
    finally:
        if script is not None:
            script.discard()
    if ExitCode.PARTIAL in codes:
        return ExitCode.PARTIAL
    has_failed = options.fails_on_difference and comparison.differs
    return ExitCode.FINDINGS if has_failed else ExitCode.DONE


@contextmanager
def _opened(source: str, inputs: CaptureInputs, codes: list[ExitCode]) -> Iterator[Database | None]:
    """Open the tables of a source; give None if Ctrl-C ended its reading.

    Args:
        source: a capture, a folder of them, or a folder of tables.
        inputs: how captures are read.
        codes: gets how the reading of a capture ended.
    """
    if holds_tables(source):
        with open_folder(source, _MEMORY_LIMIT) as database:
            yield database
        return
    if "://" in source:
        raise CaptureError(source, "holds no tables; captures there are read by kdiag pipeline")
    with tempfile.TemporaryDirectory(prefix="kdiag-tables-") as folder:
        result = tables_of(inputs._replace(files=[source]), Path(folder), _CONTENTS)
        if result.is_interrupted:
            yield None
            return
        result.say_warnings()
        codes.append(result.exit_code)
        with open_folder(Path(folder), _MEMORY_LIMIT) as database:
            yield database


def _print(
    options: DiffOptions, sides: list[MeasuredCapture], comparison: CaptureComparison
) -> None:
    screen = Output(is_wide=options.is_wide)
    if options.output is ResultFormat.JSON:
        document = comparison_document((options.before, options.after), sides, comparison)
        print_document(screen, "diff", [document])
        screen.flush()
        return
    rows = change_rows(comparison, for_people=screen.is_terminal)
    print_table(screen, COLUMNS, rows, has_headers=options.has_headers)
    screen.flush()
    say(verdict_text(comparison))
