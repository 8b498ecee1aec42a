"""What tables, queries and reports need besides kdiag: the extra `report`, asked for in time."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import typer

from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.terminal import say

if TYPE_CHECKING:
    from kdiag.exchange.topic_names import TopicNames
    from kdiag.report.parquet import ParquetTables
    from kdiag_cli.commands.decode.options import DecodeOptions

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
