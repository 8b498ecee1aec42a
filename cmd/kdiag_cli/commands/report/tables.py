"""`kdiag tables`: what there is to ask about, column by column."""

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.results import NoHeaders
from kdiag_cli.output.result import ResultFormat, print_document, print_table
from kdiag_cli.output.terminal import BOLD, Output, say

if TYPE_CHECKING:
    from kdiag.report.tables.column import Table

EXAMPLES = """\b
Examples:
  kdiag tables
  kdiag tables exchanges batches
  kdiag tables -o json

\b
Exit codes: 0 done, 2 wrong usage or no such table.
"""

_HEADERS: Final = ("COLUMN", "TYPE", "UNIT", "MEANING")
_KEYS: Final = ("name", "type", "unit", "meaning")


def tables(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="TABLE", help="Only these tables.")
    ] = None,
    *,
    output: Annotated[
        ResultFormat, typer.Option("--output", "-o", help="Text for people, or JSON for programs.")
    ] = ResultFormat.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """Explain the tables that captures become, column by column.

    They are what kdiag query and kdiag report read, and what kdiag decode --output parquet writes.
    """
    # `--help` must not load what only the run needs.
    from kdiag.report.tables.catalog import TABLES  # noqa: PLC0415

    unknown = [name for name in names or () if name not in TABLES]
    if unknown:
        say(f"there is no table {unknown[0]!r}; there are {', '.join(TABLES)}")
        raise typer.Exit(ExitCode.USAGE)
    chosen = [TABLES[name] for name in names or TABLES]
    screen = Output()
    if output is ResultFormat.JSON:
        print_document(screen, "tables", [_document(table) for table in chosen])
    else:
        _print(screen, chosen, has_headers=not no_headers)
    screen.flush()


def _document(table: "Table") -> dict[str, Any]:
    return {
        "table": table.name,
        "meaning": table.meaning,
        "key": table.key,
        "columns": [dict(zip(_KEYS, cells, strict=True)) for cells in _rows(table)],
    }


def _print(screen: Output, tables: "list[Table]", *, has_headers: bool) -> None:
    """Print a paragraph for each table on a terminal, else one list of all columns."""
    if not screen.is_terminal:
        rows = [(table.name, *cells) for table in tables for cells in _rows(table)]
        print_table(screen, ("TABLE", *_HEADERS), rows, has_headers=has_headers)
        return
    for number, table in enumerate(tables):
        if number:
            screen.line("")
        screen.line(f"{screen.paint(table.name, BOLD)}: {table.meaning}")
        screen.line(f"key: {', '.join(table.key)}")
        print_table(screen, _HEADERS, _rows(table), has_headers=has_headers)


def _rows(table: "Table") -> list[tuple[str, ...]]:
    """Return the columns of a table as the cells of `_HEADERS`."""
    return [(each.name, each.type, each.unit, each.meaning) for each in table.columns]
