"""`kdiag tables`: the tables that can be asked, column by column."""

from typing import Annotated, Any, Final

import typer

from kdiag.report.tables.catalog import TABLES
from kdiag.report.tables.column import Column, Table
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.capture_completion import complete_tables
from kdiag_cli.options.results import NoHeaders, Wide
from kdiag_cli.output.result import ResultFormat, print_document
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import BOLD, Output, print_paragraph, say

EXAMPLES = """\b
Examples:
  kdiag tables
  kdiag tables exchanges batches
  kdiag tables -o json

\b
Exit codes: 0 done, 2 wrong usage or no such table.
"""

_KEYS: Final = ("name", "type", "unit", "meaning")


def tables(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TABLE]...", help="Only these tables.", autocompletion=complete_tables
        ),
    ] = None,
    *,
    output: Annotated[
        ResultFormat, typer.Option("--output", "-o", help="Text for people, or JSON for programs.")
    ] = ResultFormat.TABLE,
    no_headers: NoHeaders = False,
    wide: Wide = False,
) -> None:
    """Explain the columns of the tables made from captures.

    They are what kdiag query and kdiag report read, and what kdiag decode --output parquet writes.
    """
    unknown = [name for name in names or () if name not in TABLES]
    if unknown:
        say(f"unknown table {unknown[0]!r}; there are {', '.join(TABLES)}")
        raise typer.Exit(ExitCode.USAGE)
    chosen = [TABLES[name] for name in names or TABLES]
    screen = Output(is_wide=wide)
    if output is ResultFormat.JSON:
        print_document(screen, "tables", [_document(table) for table in chosen])
    else:
        _print(screen, chosen, has_headers=not no_headers)
    screen.flush()


def _document(table: Table) -> dict[str, Any]:
    return {
        "table": table.name,
        "meaning": table.meaning,
        "key": table.key,
        "columns": [dict(zip(_KEYS, cells, strict=True)) for cells in _rows(table)],
    }


def _print(screen: Output, tables: list[Table], *, has_headers: bool) -> None:
    """Print a paragraph for each table on a terminal, else one list of all columns."""
    if not screen.is_terminal:
        rows = [(table.name, *cells) for table in tables for cells in _rows(table)]
        headers = ("TABLE", "COLUMN", "TYPE", "UNIT", "MEANING")
        print_table(screen, headers, rows, has_headers=has_headers)
        return
    for number, table in enumerate(tables):
        if number:
            screen.line("")
        print_paragraph(screen, f"{screen.paint(table.name, BOLD)}: {table.meaning}")
        print_paragraph(screen, f"key: {', '.join(table.key)}")
        cells = [(each.name, _type_text(each), each.meaning) for each in table.columns]
        print_table(screen, ("COLUMN", "TYPE", "MEANING"), cells, has_headers=has_headers)


def _rows(table: Table) -> list[tuple[str, ...]]:
    """Return the columns of a table as the cells of `_KEYS`."""
    return [(each.name, each.type, each.unit, each.meaning) for each in table.columns]


def _type_text(column: Column[Any]) -> str:
    """Return a type in which lines can end, and the unit of its numbers."""
    unit = f" ({column.unit})" if column.unit else ""
    return column.type.replace(",", ", ") + unit
