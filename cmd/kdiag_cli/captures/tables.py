"""The tables of captures: written as Parquet, and asked by `kdiag query` and `kdiag report`."""

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from kdiag.exchange.selection import Selection
from kdiag_cli.captures.printer import SortedPrinter
from kdiag_cli.captures.reading import CaptureReading, CaptureResult, run_on_captures
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.captures import CaptureInputs, TableContents
from kdiag_cli.output.terminal import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdiag.report.engine import Database

INSTALL: Final = "pip install 'kdiag[report]'"

_LIBRARIES: Final = ("pyarrow", "duckdb", "sqlglot")
_ALL: Final = Selection()


def require_report_extra() -> None:
    """End the program with the line that installs them if the libraries are not here."""
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        say(f"this needs {', '.join(missing)}: {INSTALL}")
        raise typer.Exit(ExitCode.USAGE)


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
    from kdiag.report.parquet import ParquetTables  # noqa: PLC0415 - pyarrow
    from kdiag.report.tables.catalog import TableChoice  # noqa: PLC0415

    reading = CaptureReading(inputs, follows_tcp=contents.tcp)
    choice = TableChoice(
        bodies=contents.bodies, records=contents.records, show_secrets=contents.shows_secrets
    )
    tables = ParquetTables(folder, reading.names, choice)
    try:
        return reading.read(SortedPrinter(tables) if contents.is_sorted else tables, selection)
    finally:
        tables.discard()  # what was not finished


def ask_tables(
    inputs: CaptureInputs, contents: TableContents, ask: "Callable[[Database], None]"
) -> ExitCode:
    """Ask something of the tables of captures; return the exit code.

    Captures are written as Parquet into a temporary folder first, so that the tables may be larger
    than the memory.

    Args:
        inputs: the captures, or one folder that `kdiag decode --output parquet` has written.
        contents: what the tables hold.
        ask: is given the database, prints the answer.
    """
    return run_on_captures(lambda: _ask(inputs, contents, ask))


def _ask(
    inputs: CaptureInputs, contents: TableContents, ask: "Callable[[Database], None]"
) -> ExitCode:
    from kdiag.report.engine import holds_tables, open_folder  # noqa: PLC0415 - duckdb is an extra

    if len(inputs.files) == 1 and holds_tables(Path(inputs.files[0])):
        with open_folder(Path(inputs.files[0])) as database:
            ask(database)
        return ExitCode.DONE
    with tempfile.TemporaryDirectory(prefix="kdiag-tables-") as folder:
        result = tables_of(inputs, Path(folder), contents)
        if not result.is_interrupted:
            result.say_warnings()
            with open_folder(Path(folder)) as database:
                ask(database)
        return result.exit_code
