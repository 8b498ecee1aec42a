"""The options of commands that print a table, a document or findings."""

from typing import Annotated

import typer

from kdiag.findings.rule import Severity

FailOn = Annotated[
    Severity, typer.Option(help="The least severity of a finding that makes the exit code 1.")
]
NoHeaders = Annotated[bool, typer.Option("--no-headers", help="Print no line of column names.")]
Wide = Annotated[
    bool,
    typer.Option("--wide", "-w", help="Show all columns of a table, however narrow the terminal."),
]
