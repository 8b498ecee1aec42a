"""Where `kdiag query` and `kdiag report` get their tables: captures, or a folder of Parquet."""

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer
from msgspec.structs import replace

from kdiag_cli.captures.run import run_on_captures
from kdiag_cli.commands.decode.options import DecodeOptions
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.terminal import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdiag.exchange.topic_names import TopicNames
    from kdiag.report.engine import Database
    from kdiag.report.parquet import ParquetTables


def ask_tables(options: DecodeOptions, ask: "Callable[[Database], None]") -> ExitCode:
    """Ask something of the tables of captures; return the exit code.

    Captures are written as Parquet into a temporary folder first, so that the tables may be larger
    than the memory.

    Args:
        options: the captures, or one folder that `kdiag decode --output parquet` has written.
        ask: is given the database, prints the answer.
    """
    return run_on_captures(lambda: _ask(options, ask))


def _ask(options: DecodeOptions, ask: "Callable[[Database], None]") -> ExitCode:
    from kdiag.report.engine import holds_tables, open_folder  # noqa: PLC0415 - duckdb
    from kdiag_cli.commands.decode import run as decoding  # noqa: PLC0415 - it imports this module

    if len(options.files) == 1 and holds_tables(Path(options.files[0])):
        with open_folder(Path(options.files[0])) as database:
            ask(database)
        return ExitCode.DONE
    with tempfile.TemporaryDirectory(prefix="kdiag-tables-") as folder:
        code = decoding.run(replace(options, output="parquet", out=Path(folder)))
        if code in (ExitCode.DONE, ExitCode.PARTIAL):
            with open_folder(Path(folder)) as database:
                ask(database)
        return code


_LIBRARIES: Final = ("pyarrow", "duckdb", "sqlglot")
INSTALL: Final = "pip install 'kdiag[report]'"


def require_report_extra() -> None:
    """End the program with the line that installs them if the libraries are not here."""
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        say(f"this needs {', '.join(missing)}: {INSTALL}")
        raise typer.Exit(ExitCode.USAGE)


def open_parquet_tables(options: "DecodeOptions", names: "TopicNames") -> "ParquetTables":
    """Return what writes the tables of `kdiag decode --output parquet --out DIR`.

    Raises:
        ReportError: if the folder cannot be written to.
    """
    from kdiag.report.arrow import TableChoice  # noqa: PLC0415
    from kdiag.report.parquet import ParquetTables  # noqa: PLC0415 - pyarrow

    assert options.out is not None
    form = options.form
    choice = TableChoice(bodies=options.bodies, records=form.values, show_secrets=form.show_secrets)
    return ParquetTables(options.out, names, choice)
