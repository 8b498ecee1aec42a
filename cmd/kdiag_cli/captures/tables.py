"""The tables of captures, written as Parquet: for `kdiag decode`, and for questions.

It needs the extra `report`: see `require_report_extra`.
"""

from pathlib import Path
from typing import Final

from kdiag.exchange.selection import Selection
from kdiag.report.parquet import ParquetTables
from kdiag_cli.captures.printer import SortedPrinter
from kdiag_cli.captures.reading import CaptureReading, CaptureResult
from kdiag_cli.options.captures import CaptureInputs, TableContents

_ALL: Final = Selection()


def tables_of(
    inputs: CaptureInputs,
    folder: Path,
    contents: TableContents,
    selection: Selection = _ALL,
) -> CaptureResult:
    """Write the tables of captures into a folder.

    Args:
        inputs: the captures.
        folder: where to; made if it does not exist.
        contents: what the tables hold.
        selection: which exchanges they hold.

    Raises:
        CaptureError: a capture cannot be read.
        ReportError: the folder cannot be written to.
    """
    from kdiag.report.tables.catalog import TableChoice  # noqa: PLC0415 - an extra

    reading = CaptureReading(inputs, follows_tcp=contents.tcp)
    choice = TableChoice(
        bodies=contents.bodies, records=contents.records, show_secrets=contents.shows_secrets
    )
    tables = ParquetTables(folder, reading.names, choice)
    try:
        return reading.read(SortedPrinter(tables) if contents.is_sorted else tables, selection)
    finally:
        tables.discard()  # what was not finished
