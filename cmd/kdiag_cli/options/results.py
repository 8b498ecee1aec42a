"""The options of commands that print tables or findings, and the extra that tables need."""

from importlib.util import find_spec
from typing import Annotated, Final

import typer

from kdiag.findings.rule import Severity
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.terminal import say

INSTALL: Final = "pip install 'kdiag[report]'"

_LIBRARIES: Final = ("pyarrow", "duckdb", "sqlglot")

FailOn = Annotated[
    Severity, typer.Option(help="The least severity of a finding that makes the exit code 1.")
]
NoHeaders = Annotated[bool, typer.Option("--no-headers", help="Print no line of column names.")]
Wide = Annotated[
    bool,
    typer.Option("--wide", "-w", help="Show all columns of a table, however narrow the terminal."),
]


def require_report_extra() -> None:
    """End the program if the libraries of the extra are missing.

    The line on stderr installs them. Modules that need the extra are imported afterwards.

    Raises:
        typer.Exit: something is missing.
    """
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        say(f"this needs {', '.join(missing)}: {INSTALL}")
        raise typer.Exit(ExitCode.USAGE)
