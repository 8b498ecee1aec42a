"""The HTML page of `kdiag tune-buffers`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from kdiag.diagnosis.buffers.report import BufferReport
from kdiag_cli.commands.tune_buffers.text import (
    CEILING_COLUMNS,
    PATH_COLUMNS,
    RUN_COLUMNS,
    ceiling_rows,
    charts,
    path_row,
    run_rows,
    sentences,
)
from kdiag_cli.output.chart import Grid
from kdiag_cli.output.findings import finding_rows
from kdiag_cli.output.pages.html_page import Part, write_page
from kdiag_cli.output.table.layout import headers_of


def write_buffer_page(file: Path, reports: Sequence[BufferReport]) -> None:
    """Write the page.

    Raises:
        ConfigError: if the file cannot be written, or the library that draws is missing.
    """
    write_page(file, "Socket buffers", _parts(reports))


def _parts(reports: Sequence[BufferReport]) -> Iterator[Part]:
    yield Grid("Paths", headers_of(PATH_COLUMNS), [path_row(each) for each in reports])
    for each in reports:
        yield from sentences(each)
        yield from charts(each)
        if each.trials:
            title = f"Runs, broker {each.path.node_id}"
            yield Grid(title, headers_of(RUN_COLUMNS), list(run_rows(each)))
        if each.ceilings:
            title = f"Ceilings of clients with their defaults, broker {each.path.node_id}"
            yield Grid(title, headers_of(CEILING_COLUMNS), list(ceiling_rows(each)))
        if each.advice:
            lines = [(advice.client, line) for advice in each.advice for line in advice.lines]
            yield Grid(f"To paste, broker {each.path.node_id}", ("WHERE", "LINE"), lines)
        if each.findings:
            yield Grid("Findings", ("ID", "SEVERITY", "WHAT", "FIX"), finding_rows(each.findings))
