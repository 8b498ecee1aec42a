"""The HTML page of `kdiag latency`: percentiles as curves, medians as bars, and the tables."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from kdiag.diagnosis.latency.fetch_waits import explanation
from kdiag.diagnosis.latency.histogram import LatencyHistogram
from kdiag.probe.latency.results import LatencyResults, Series, SeriesKind
from kdiag_cli.commands.latency.document import has_bounds, name_of
from kdiag_cli.commands.latency.text import (
    COLUMNS,
    NODE_COLUMNS,
    WAIT_COLUMNS,
    medians,
    node_rows,
    series_row,
    wait_name,
    wait_row,
)
from kdiag_cli.output.chart import Axis, Grid, LineChart
from kdiag_cli.output.pages.html_page import Part, write_page
from kdiag_cli.output.result import milliseconds
from kdiag_cli.output.table.layout import headers_of

_INTRODUCTION: Final = (
    "All times are in milliseconds. Requests were due on a schedule and count from when they were "
    "due. NETWORK, BROKER and CLIENT are the parts of the median; ranges hold the true percentile "
    "with 95 % confidence. Percentiles for which there are too few samples are left out."
)
_CURVE: Final = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999)
_TICKS: Final = {1 / (1 - each): f"p{100 * each:g}" for each in (0.5, 0.9, 0.99, 0.999, 0.9999)}

_PICTURES: Final = {
    "Request": (SeriesKind.PRODUCE, SeriesKind.FETCH),
    "End-to-end": (SeriesKind.END_TO_END,),
    "Commit": (SeriesKind.COMMIT, SeriesKind.COMMITTED),
}


def write_latency_page(file: Path, results: LatencyResults) -> None:
    """Write the page.

    Raises:
        ConfigError: as `write_page`.
    """
    series = [each for each in results.series.values() if each.latencies.count]
    parts: list[Part] = [_INTRODUCTION, medians(results), *_curves(series)]
    parts.append(Grid("Latencies", headers_of(COLUMNS), [series_row(each) for each in series]))
    nodes = node_rows(results)
    if nodes:
        parts.append(Grid("Brokers", headers_of(NODE_COLUMNS), nodes))
    if results.sweep:
        parts.append(
            Grid("Fetches", headers_of(WAIT_COLUMNS), [wait_row(each) for each in results.sweep])
        )
        parts += [f"{wait_name(each)}: {explanation(each)}" for each in results.sweep]
    parts += results.warnings
    write_page(file, "kdiag latency", parts)


def _curves(series: Sequence[Series]) -> Iterator[LineChart]:
    """Yield a picture for each step on a record's way, so that none has too many curves."""
    how_rare = Axis("percentile", is_log=True, ticks=_TICKS)
    for title, kinds in _PICTURES.items():
        lines = {name_of(each): _points(each.latencies) for each in series if each.kind in kinds}
        lines = {name: points for name, points in lines.items() if points}
        if lines:
            yield LineChart(f"{title} latency by percentile", how_rare, Axis("ms"), lines)


def _points(latencies: LatencyHistogram) -> list[tuple[float, float]]:
    """Return how rare latencies are, as one in so many, and the latencies."""
    found = [latencies.percentile(each) for each in _CURVE]
    return [
        (1 / (1 - each.quantile), milliseconds(each.split.total_ns) or 0.0)
        for each in found
        if has_bounds(each)
    ]
