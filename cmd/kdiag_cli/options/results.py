"""The options of commands that print tables or findings, and the extra that tables need."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

import typer

from kdiag.errors import install_command
from kdiag.findings.rule import Severity
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.quantities import positive_ns
from kdiag_cli.output.terminal import say

_LIBRARIES: Final = ("pyarrow", "duckdb", "sqlglot")

FailOn = Annotated[
    Severity, typer.Option(help="Lowest severity of a finding that makes the exit code 1.")
]
NoHeaders = Annotated[bool, typer.Option("--no-headers", help="Print no header line.")]
Wide = Annotated[
    bool,
    typer.Option("--wide", "-w", help="Show all columns of a table, even on a narrow terminal."),
]

CsvSafe = Annotated[
    bool,
    typer.Option(
        "--csv-safe",
        help="With -o csv or tsv: put ' before cells that a spreadsheet would take for formulas.",
    ),
]
Timeout = Annotated[
    int | None,
    typer.Option(
        metavar="TIME",
        help="Stop after this time, even if requests are pending: 10s, 500ms, 2m.",
        parser=positive_ns,
    ),
]
_ROWS: Final = frozenset({"csv", "tsv"})


def check_csv_safe(output: str, *, is_csv_safe: bool) -> None:
    """Refuse `--csv-safe` where no cells are written.

    Args:
        output: the value of `--output`.
        is_csv_safe: whether the option was given.

    Raises:
        typer.BadParameter: it changes nothing.
    """
    if is_csv_safe and output not in _ROWS:
        raise typer.BadParameter("is for cells: give -o csv or tsv", param_hint="'--csv-safe'")


def require_folder(file: Path | None, option: str) -> None:
    """Refuse a file to write that is a folder, or in none, before anything else is done.

    Args:
        file: of the option; None if it was not given.
        option: with its hyphens.

    Raises:
        typer.BadParameter: if it cannot be written there.
    """
    if file is None:
        return
    if not file.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {file.parent}", param_hint=option)
    if file.is_dir():
        raise typer.BadParameter(f"{file} is a folder, not a file", param_hint=option)


def require_report_extra() -> None:
    """End the program if the libraries of the extra are missing.

    The line on stderr installs them. Modules that need the extra are imported afterwards.

    Raises:
        typer.Exit: something is missing.
    """
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        say(f"this needs {', '.join(missing)}: {install_command('report')}")
        raise typer.Exit(ExitCode.USAGE)
