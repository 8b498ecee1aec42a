"""The page of `kdiag diff`: the verdict, the blocks of both captures as curves, and all rows."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from kdiag.clock import NS_PER_MS
from kdiag.exchange.line.phrase import count, size
from kdiag.report.difference.comparison import CaptureComparison
from kdiag.report.difference.measured import MeasuredCapture
from kdiag_cli.commands.report.diff.rows import COLUMNS, change_rows, differing, verdict_text
from kdiag_cli.output.pages import plots
from kdiag_cli.output.pages.parts import (
    Cell,
    Choice,
    PagePart,
    PageSection,
    Plot,
    Remark,
    SortableTable,
)
from kdiag_cli.output.pages.script_page import write_script_page
from kdiag_cli.output.table.layout import headers_of
from kdiag_cli.output.terminal import say
from kdiag_cli.output.units import age

_SIDES: Final = ("before", "after")


def write_diff_page(
    file: Path,
    names: Sequence[str],
    sides: Sequence[MeasuredCapture],
    comparison: CaptureComparison,
    script: str,
) -> None:
    """Write the page.

    Args:
        file: it is replaced if it exists.
        names: of the captures, the earlier one first.
        sides: what was measured of each.
        comparison: of the two.
        script: that draws charts.

    Raises:
        ConfigError: if the file cannot be written.
    """
    title = f"Kafka traffic: {names[0]} and {names[1]} compared"
    lines = [
        f"{label}, {name}: {_counts(side)}"
        for label, name, side in zip(_SIDES, names, sides, strict=True)
    ]
    sections = [
        PageSection("verdict", "Verdict", list(_verdict(comparison))),
        PageSection("latency", "Latency", list(_latencies(sides))),
        PageSection("compared", "All that was compared", [_table(comparison)]),
    ]
    written = write_script_page(file, title, lines, sections, script)
    say(f"wrote {file}: {size(written)}")


def _counts(side: MeasuredCapture) -> str:
    span = side.span
    if not span["exchanges"]:
        return "no exchanges"
    took = age(span["last_ns"] - span["first_ns"])
    clients = count(len(side.callers), "client")
    return f"{count(span['exchanges'], 'exchange')} of {clients} in {took}, from {_start(side)}"


def _start(side: MeasuredCapture) -> str:
    return f"{count(side.span['brokers'], 'broker')}, {side.span['errors']:,} with errors"


def _verdict(comparison: CaptureComparison) -> Iterator[PagePart]:
    head, _, how = verdict_text(comparison).partition(". ")
    sentence = head[0].upper() + head[1:]
    has_new_errors = any(each.is_new for each in comparison.errors)
    kind = "error" if has_new_errors else "warning" if comparison.differs else "info"
    yield Remark(kind, sentence, list(differing(comparison)))
    yield f"{how}."


def _latencies(sides: Sequence[MeasuredCapture]) -> Iterator[PagePart]:
    columns: dict[str, list[Any]] = defaultdict(list)
    for label, side in zip(_SIDES, sides, strict=True):
        for api, blocks in side.p50_blocks.items():
            others = side.p90_blocks[api]
            for number, (p50_us, p90_us) in enumerate(zip(blocks, others, strict=True), 1):
                columns["name"].append(label)
                columns["api"].append(api)
                columns["block"].append(number)
                columns["p50"].append(p50_us * 1000 / NS_PER_MS)
                columns["p90"].append(p90_us * 1000 / NS_PER_MS)
    apis = sorted(set(columns["api"]), key=lambda api: -len(sides[-1].p50_blocks.get(api, ())))
    if apis:
        yield Plot(
            "Latency, block by block",
            plots.block_lines(apis[0]),
            columns,
            (
                Choice("api", "Of", {each: each for each in apis}),
                Choice("percentile", "show", {"p50": "p50", "p90": "p90"}),
            ),
            "A block has an equal part of the answers of its API; blocks follow each other.",
        )


def _table(comparison: CaptureComparison) -> SortableTable:
    rows: list[Sequence[Cell]] = [
        [each if isinstance(each, str | int | float) else None for each in row]
        for row in change_rows(comparison, for_people=True)
    ]
    headers = [
        each.lower().replace("-pct", ", %").replace("-", " ") for each in headers_of(COLUMNS)
    ]
    return SortableTable(
        "Differences first",
        headers,
        rows,
        "Pairs: in which part of the pairs of blocks the second is larger; p values are corrected "
        "for the number of comparisons.",
    )
