"""The run of `kdiag report --html`: captures or tables in, one page out.

It needs the extras `report` and `html`: see `require_report_extra` and `ChartScript`.
"""

import shlex
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from kdiag.clock import TimeRange
from kdiag.exchange.line.phrase import count, size
from kdiag.exchange.line.shown_time import span_of_days
from kdiag.report.engine import Database
from kdiag.report.overview.overview import Overview, read_overview
from kdiag_cli.captures.more import command_for
from kdiag_cli.captures.reading import CaptureResult, run_on_captures
from kdiag_cli.commands.report.page.findings import exchange_numbers, verdict_of
from kdiag_cli.commands.report.page.judged import Judged
from kdiag_cli.commands.report.page.judging import with_judged
from kdiag_cli.commands.report.page.kept_exchanges import KeptExchanges
from kdiag_cli.commands.report.page.sections import sections_of
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.captures import CaptureInputs
from kdiag_cli.output.pages.chart_script import ChartScript
from kdiag_cli.output.pages.parts import PageSection
from kdiag_cli.output.pages.script_page import write_script_page
from kdiag_cli.output.terminal import say
from kdiag_cli.output.units import age

_MOST_NAMES: Final = 6


class PageTarget(NamedTuple):
    """Where the page goes, and what it is about.

    Attributes:
        file: it is replaced if it exists.
        times: of the rows that are shown.
        has_records: whether what users wrote is read, too: it tells hot keys.
        timeout_ns: the longest it may take; None for ever.
    """

    file: Path
    times: TimeRange
    has_records: bool = False
    timeout_ns: int | None = None


def run(target: PageTarget, inputs: CaptureInputs) -> ExitCode:
    """Write the page; return the exit code of the program.

    Args:
        target: where to.
        inputs: the captures, or one folder of tables.
    """
    return run_on_captures(lambda: _run(target, inputs), target.timeout_ns)


def _run(target: PageTarget, inputs: CaptureInputs) -> ExitCode:
    script = ChartScript()

    def write(database: Database, judged: Judged, read: CaptureResult | None) -> None:
        _write(target, inputs, database, script, judged, read)

    try:
        return with_judged(inputs, target.times, write, has_records=target.has_records)
    finally:
        script.discard()


def _write(  # noqa: PLR0913, PLR0917 - what the page is of
    target: PageTarget,
    inputs: CaptureInputs,
    database: Database,
    script: ChartScript,
    judged: Judged,
    read: CaptureResult | None,
) -> None:
    """Write the page of tables, and of the reading of the captures that they were made of."""
    overview = read_overview(database, exchange_numbers(judged.findings))
    kept = KeptExchanges(overview.kept)
    names = [Path(each).name or each for each in inputs.files]
    title = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    is_folder = read is None
    more = partial(
        command_for,
        files=[] if is_folder else inputs.files,
        tables=inputs.files[0] if is_folder else "",
    )
    sections = [
        PageSection("findings", "Verdict", list(verdict_of(overview, judged, kept, more))),
        *sections_of(overview, kept, judged.limits, shlex.join(inputs.files)),
    ]
    lines = list(_head(overview, names, read))
    written = write_script_page(
        target.file, f"Kafka traffic: {title}", lines, sections, script.text()
    )
    say(f"wrote {target.file}: {size(written)}")


def _head(overview: Overview, names: Sequence[str], result: CaptureResult | None) -> Iterator[str]:
    """Yield what stands below the title."""
    span = overview.span
    if len(names) > 1:
        more = len(names) - _MOST_NAMES
        yield ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    if not span["exchanges"]:
        yield "There are no exchanges in it."
        return
    first_ns, last_ns = span["first_ns"], span["last_ns"]
    yield f"{span_of_days(first_ns, last_ns)}, {age(last_ns - first_ns)}"
    counts = [
        count(span["exchanges"], "exchange"),
        count(span["connections"], "connection"),
        count(span["brokers"], "broker"),
        count(span["client_ids"], "client id"),
        f"{size(span['request_bytes'])} asked, {size(span['response_bytes'])} answered",
    ]
    if result is not None:
        counts.insert(0, count(result.totals.packets, "packet"))
    yield ", ".join(counts)
