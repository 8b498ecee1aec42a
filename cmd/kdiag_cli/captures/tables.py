"""The tables of captures, written as Parquet: for `kdiag decode`, and for questions.

It needs the extra `report`: see `require_report_extra`.
"""

import shlex
from collections.abc import Callable
from pathlib import Path

from kdiag.exchange.line.phrase import count
from kdiag.exchange.selection import Selection
from kdiag.report.parquet import ParquetTables, row_counts
from kdiag_cli.captures.printer import Printer, SortedPrinter
from kdiag_cli.captures.reading import CaptureReading, CaptureResult
from kdiag_cli.options.captures import CaptureInputs, TableContents


def _all(_: int | None) -> Selection:
    return Selection()


def tables_of(
    inputs: CaptureInputs,
    folder: Path,
    contents: TableContents,
    choose: Callable[[int | None], Selection] = _all,
    *,
    judges_traffic: bool = False,
) -> CaptureResult:
    """Write the tables of captures into a folder.

    Args:
        inputs: the captures.
        folder: where to; made if it does not exist.
        contents: what the tables hold.
        choose: returns which exchanges they hold, given the time of the first packet.
        judges_traffic: whether clients, brokers and connections are judged.

    Raises:
        CaptureError: a capture cannot be read.
        ReportError: the folder cannot be written to.
    """
    from kdiag.report.tables.catalog import TableChoice  # noqa: PLC0415 - an extra

    reading = CaptureReading(inputs, follows_tcp=contents.tcp)
    choice = TableChoice(
        bodies=contents.bodies,
        records=contents.records,
        tcp=contents.tcp,
        show_secrets=contents.shows_secrets,
    )
    tables = ParquetTables(folder, reading.names, choice, lambda: reading.files)
    try:
        printer: Printer = SortedPrinter(tables) if contents.is_sorted else tables
        selection = choose(reading.first_ns)
        return reading.read(printer, selection, judges_traffic=judges_traffic)
    finally:
        tables.discard()  # what was not finished


def written_text(folder: Path) -> str:
    """Return which tables a folder has, with their rows, for people."""
    rows = row_counts(folder)
    tables = ", ".join(f"{name} {number:,}" for name, number in rows.items() if number)
    question = shlex.join(["kdiag", "query", str(folder), "SELECT ..."])
    return f"wrote {count(sum(rows.values()), 'row')} to {folder} ({tables}): {question}"
