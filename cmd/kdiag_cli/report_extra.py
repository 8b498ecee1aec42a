"""What tables, queries and reports need besides kdiag: the extra `report`, asked for in time."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import typer

from kdiag_cli.exit_code import ExitCode
from kdiag_cli.terminal import say

if TYPE_CHECKING:
    from kdiag.report.parquet_tables import ParquetTables
    from kdiag.wire.topic_names import TopicNames
    from kdiag_cli.decode_options import DecodeOptions

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
    from kdiag.report.parquet_tables import ParquetTables  # noqa: PLC0415 - pyarrow
    from kdiag.report.tables import TableChoice  # noqa: PLC0415

    assert options.out is not None
    form = options.form
    choice = TableChoice(bodies=options.bodies, records=form.values, show_secrets=form.show_secrets)
    return ParquetTables(options.out, names, choice)
