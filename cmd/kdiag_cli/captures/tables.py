"""Where `kdiag query` and `kdiag report` get their tables: captures, or a folder of Parquet."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kdiag_cli.captures.run import run_on_captures
from kdiag_cli.commands.decode import run as decoding
from kdiag_cli.commands.decode.options import DecodeOptions
from kdiag_cli.exit_code import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdiag.report.engine import Database


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
