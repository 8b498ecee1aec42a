"""Captures or a folder of tables, judged: what the page and `kdiag report findings` begin with."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from kdiag.clock import TimeRange
from kdiag.errors import CaptureError
from kdiag.exchange.line.phrase import count, size
from kdiag.report.engine import Database, holds_tables, open_folder
from kdiag_cli.captures.reading import CaptureResult
from kdiag_cli.captures.tables import tables_of
from kdiag_cli.commands.report.page.judged import Judged, judge_captures, judge_folder
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.captures import CaptureInputs, TableContents
from kdiag_cli.output.exchanges.text import not_understood_text

MEMORY_LIMIT: Final = "208MB"
"""DuckDB's: what does not fit goes to a temporary folder. The rest of the program takes as much."""

_CONTENTS: Final = TableContents(bodies=True, tcp=True)

Use: TypeAlias = Callable[[Database, Judged, CaptureResult | None], None]
"""Is given the tables, what is wrong in them, and the reading of captures; None for a folder."""


def with_judged(
    inputs: CaptureInputs, times: TimeRange, use: Use, *, has_records: bool = False
) -> ExitCode:
    """Judge captures or tables, and pass on what was found; return the exit code of the program.

    Args:
        inputs: the captures, or one folder of tables.
        times: of the rows of the tables.
        use: what is done with them.
        has_records: whether what users wrote is read, too.

    Raises:
        CaptureError: if a capture cannot be read.
        ReportError: if the tables cannot be read.
    """
    if len(inputs.files) == 1 and holds_tables(inputs.files[0]):
        with open_folder(inputs.files[0], MEMORY_LIMIT, times) as database:
            use(database, judge_folder(database, times), None)
        return ExitCode.DONE
    for each in inputs.files:
        if "://" in each:
            raise CaptureError(each, "holds no tables; captures there are read by kdiag pipeline")
    with tempfile.TemporaryDirectory(prefix="kdiag-tables-") as folder:
        contents = _CONTENTS._replace(records=has_records)
        result = tables_of(inputs, Path(folder), contents, judges_traffic=True)
        if not result.is_interrupted:
            result.say_warnings()
            with open_folder(folder, MEMORY_LIMIT) as whole:
                judged = judge_captures(whole, result.findings)
            judged.notes.extend(_lost(result))
            with open_folder(folder, MEMORY_LIMIT, times) as database:
                use(database, judged, result)
        return result.exit_code


def _lost(result: CaptureResult) -> list[str]:
    """Return what could not be read."""
    warnings = [*result.totals.warnings]
    if result.totals.gaps:
        gaps, missing = count(result.totals.gaps, "gap"), size(result.totals.gap_bytes)
        warnings.append(f"{gaps}: {missing} are missing in what was captured")
    if result.totals.not_understood:
        warnings.append(not_understood_text(result.totals))
    if result.totals.closing_line:
        warnings.append(result.totals.closing_line)
    return warnings
