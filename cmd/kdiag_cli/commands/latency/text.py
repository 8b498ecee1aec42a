"""Latencies for people: a line for each kind, with where the median's time went.

WHAT                 COUNT   MIN   P50  P50-RANGE  P95   P99  ...  NETWORK  BROKER  CLIENT
produce acks=1         500  0.73  1.55  1.45-1.66  4.24  8.37 ...     0.02    1.10    0.42
"""

from typing import Final

from kdiag.diagnosis.latency.fetch_waits import FetchReturn, FetchTally, explanation
from kdiag.diagnosis.latency.histogram import QUANTILES, Percentile
from kdiag.probe.latency.results import LatencyResults, Series, SeriesKind
from kdiag_cli.commands.latency.document import has_bounds, name_of
from kdiag_cli.output.chart import Bar, BarChart, print_bars
from kdiag_cli.output.result import milliseconds
from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import Output, print_paragraph

COLUMNS: Final = (
    TableColumn("WHAT"),
    TableColumn("COUNT"),
    TableColumn("MIN", 5, unit="ms"),
    TableColumn("P50", unit="ms"),
    TableColumn("P50-RANGE", 6, unit="ms"),
    TableColumn("P95", 4, unit="ms"),
    TableColumn("P99", unit="ms"),
    TableColumn("P99-RANGE", 7, unit="ms"),
    TableColumn("P99.9", 3, unit="ms"),
    TableColumn("MAX", 2, unit="ms"),
    TableColumn("NETWORK", unit="ms"),
    TableColumn("BROKER", unit="ms"),
    TableColumn("CLIENT", unit="ms"),
    TableColumn("ERRORS", 1),
)
"""Times are in milliseconds; the last three are the parts of the median."""

NODE_COLUMNS: Final = (
    TableColumn("NODE-ID"),
    TableColumn("WHAT"),
    TableColumn("COUNT", 1),
    TableColumn("MEAN", unit="ms"),
    TableColumn("NETWORK", unit="ms"),
    TableColumn("BROKER", unit="ms"),
    TableColumn("CLIENT", unit="ms"),
)
WAIT_COLUMNS: Final = (
    TableColumn("MIN-BYTES", unit="bytes"),
    TableColumn("MAX-WAIT", unit="ms"),
    TableColumn("COUNT", 1),
    TableColumn("P50", unit="ms"),
    TableColumn("AT-WAIT-PCT", unit="percent"),
    TableColumn("EMPTY-PCT", unit="percent"),
    TableColumn("BYTES", 2, unit="bytes"),
)

_REQUESTS: Final = frozenset((SeriesKind.PRODUCE, SeriesKind.FETCH))


def print_results(output: Output, results: LatencyResults, *, has_headers: bool = True) -> None:
    """Print the tables, each after an empty line, and what the fetches waited for."""
    rows = [series_row(each) for each in results.series.values() if _says_something(each)]
    print_table(output, COLUMNS, rows, has_headers=has_headers)
    chart = medians(results)
    if output.is_terminal and chart.bars:
        output.line("")
        print_bars(output, chart)
    nodes = node_rows(results)
    if nodes:
        output.line("")
        print_table(output, NODE_COLUMNS, nodes, has_headers=has_headers)
    if results.sweep:
        output.line("")
        waits = [wait_row(each) for each in results.sweep]
        print_table(output, WAIT_COLUMNS, waits, has_headers=has_headers)
        for each in results.sweep:
            print_paragraph(output, f"{wait_name(each)}: {explanation(each)}")


def series_row(series: Series) -> tuple[object, ...]:
    """Return the row of a kind of latencies."""
    latencies = series.latencies
    errors = sum(series.errors.values()) or None
    if not latencies.count:
        return (name_of(series), 0, *[None] * 11, errors)
    p50, p95, p99, p999 = (latencies.percentile(each) for each in QUANTILES)
    return (
        name_of(series),
        latencies.count,
        milliseconds(latencies.least.total_ns),
        _value(p50),
        _range(p50),
        _value(p95),
        _value(p99),
        _range(p99),
        _value(p999),
        milliseconds(latencies.most.total_ns),
        milliseconds(p50.split.network_ns),
        milliseconds(p50.split.broker_ns),
        milliseconds(p50.split.client_ns),
        errors,
    )


def medians(results: LatencyResults) -> BarChart:
    """Return the medians side by side."""
    bars = []
    for each in results.series.values():
        if each.latencies.count:
            median = each.latencies.percentile(0.5)
            value_ms, low_ms, high_ms = (
                milliseconds(time_ns)
                for time_ns in (median.split.total_ns, median.lower_ns, median.upper_ns)
            )
            bars.append(Bar(name_of(each), value_ms or 0.0, low_ms, high_ms))
    return BarChart("median latency", "ms", bars)


def node_rows(results: LatencyResults) -> list[tuple[object, ...]]:
    """Return a row for each broker and kind of request, where there is more than one broker."""
    return [
        (
            node_id,
            name_of(series),
            each.count,
            milliseconds(each.mean.total_ns),
            milliseconds(each.mean.network_ns),
            milliseconds(each.mean.broker_ns),
            milliseconds(each.mean.client_ns),
        )
        for series in results.series.values()
        if len(series.nodes) > 1 and series.kind in _REQUESTS
        for node_id, each in sorted(series.nodes.items())
    ]


def wait_row(tally: FetchTally) -> tuple[object, ...]:
    """Return the row of one setting of fetches."""
    count = tally.latencies.count
    at_wait = tally.share(FetchReturn.AT_WAIT_EMPTY, FetchReturn.AT_WAIT_WITH_DATA)
    empty = tally.share(FetchReturn.AT_WAIT_EMPTY, FetchReturn.EARLY_EMPTY)
    return (
        tally.wait.min_bytes,
        tally.wait.max_wait_ms,
        count,
        milliseconds(tally.latencies.percentile(0.5).split.total_ns) if count else None,
        round(100 * at_wait),
        round(100 * empty),
        tally.bytes,
    )


def wait_name(tally: FetchTally) -> str:
    """Return what people call a setting of fetches."""
    return f"fetch.min.bytes={tally.wait.min_bytes} fetch.max.wait.ms={tally.wait.max_wait_ms}"


def _says_something(series: Series) -> bool:
    return bool(series.latencies.count or series.errors)


def _value(percentile: Percentile) -> float | None:
    """Return a percentile; None if there are too few latencies to tell it."""
    return milliseconds(percentile.split.total_ns) if has_bounds(percentile) else None


def _range(percentile: Percentile) -> str | None:
    """Return the bounds of a percentile."""
    if not has_bounds(percentile):
        return None
    bounds = milliseconds(percentile.lower_ns), milliseconds(percentile.upper_ns)
    return "-".join(f"{each:g}" for each in bounds)
