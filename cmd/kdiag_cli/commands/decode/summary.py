"""The summary of a capture as text."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from kdiag.clock import NS_PER_S
from kdiag.exchange.line.phrase import count, size
from kdiag.exchange.summary.counts import Summary, Totals, kind_text
from kdiag.exchange.summary.measures import Measures
from kdiag_cli.output.exchanges.text import protocol_text
from kdiag_cli.output.table.layout import TableColumn, headers_of
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.tcp_text import TCP_COLUMNS, tcp_row
from kdiag_cli.output.terminal import YELLOW, Output, harmless, print_paragraph, table
from kdiag_cli.output.units import duration

_MOST: Final = 20
_API_COLUMNS: Final = (
    TableColumn("API"),
    TableColumn("REQUESTS"),
    TableColumn("RESPONSES"),
    TableColumn("BYTES", 1),
    TableColumn("P50", 2),
    TableColumn("P99"),
    TableColumn("MAX", 3),
)


_NONE: Final[Mapping[str, int]] = {}


def print_summary(
    output: Output, summary: Summary, totals: Totals, rebalances: Mapping[str, int] = _NONE
) -> None:
    """Print what a capture holds, the most frequent first.

    Args:
        output: where to.
        summary: of the exchanges.
        totals: of the capture.
        rebalances: how many groups rebalanced for each cause.
    """
    seconds = (totals.last_ns - totals.first_ns) / NS_PER_S
    print_paragraph(
        output,
        f"{count(totals.packets, 'packet')}, {size(totals.bytes)}, {seconds:,.3f} s, "
        f"{count(totals.connections, 'connection')}, {count(summary.exchanges, 'exchange')}",
    )
    _print_apis(output, summary)
    protocols = Counter({protocol_text(each): n for each, n in summary.protocols.items()})
    for title, counts in (
        ("STATUS", Counter({each.value: number for each, number in summary.status.items()})),
        ("ERROR", summary.errors),
        ("CLIENT-ID", Counter({name or "-": n for name, n in summary.clients.items()})),
        ("CLIENT SOFTWARE", summary.software),
        ("TOPIC", summary.topics),
        ("REBALANCE", Counter({cause.replace("_", " "): n for cause, n in rebalances.items()})),
        ("PROTOCOL", protocols if set(protocols) - {"Kafka"} else Counter()),
        ("TROUBLE", Counter({f"{at}: {why}": n for (at, why), n in summary.troubles.items()})),
    ):
        _print_counts(output, title, counts)
    _print_tcp(output, summary)
    losses = []
    if totals.sightings:
        times = count(totals.sightings, "time")
        losses.append(f"connections seen once more with other addresses: {times}; counted once")
    if totals.duplicates:
        losses.append(f"{count(totals.duplicates, 'segment')} carried nothing new")
    if totals.gaps:
        losses.append(gaps_text(totals))
    for loss in losses:
        output.line("")
        print_paragraph(output, output.paint(loss, YELLOW))
    for warning in totals.warnings:
        print_paragraph(output, output.paint(harmless(warning), YELLOW))
    if totals.closing_line:
        output.line("")
        print_paragraph(output, totals.closing_line)


def gaps_text(totals: Totals) -> str:
    """Return how much is missing: `24 gaps, 1.7 MB missing`."""
    return f"{count(totals.gaps, 'gap')}, {size(totals.gap_bytes)} missing"


def _print_apis(output: Output, summary: Summary) -> None:
    kinds = summary.requests | summary.responses
    ordered = sorted(kinds, key=lambda kind: (-kinds[kind], kind_text(*kind)))
    requests, responses = summary.requests, summary.responses
    rows = [
        (
            kind_text(*kind),
            f"{requests[kind]:,}",
            f"{responses[kind]:,}",
            *_measured(summary.measures.get(kind)),
        )
        for kind in ordered
    ]
    if rows:
        _print_table(output, _API_COLUMNS, rows)


def _measured(measures: Measures | None) -> tuple[str, ...]:
    """Return bytes, and the median, the 99th percentile and the longest of the latencies."""
    if measures is None:
        return ("-",) * 4
    latency = measures.latency()
    total = size(measures.request_bytes + measures.response_bytes)
    if latency is None:
        return (total, *("-",) * 3)
    return (total, *map(duration, (latency.p50_ns, latency.p99_ns, latency.max_ns)))


def _print_counts(output: Output, title: str, counts: "Counter[str]") -> None:
    most = counts.most_common(_MOST)
    rows = [(harmless(name), f"{number:,}") for name, number in most]
    if len(counts) > _MOST:
        rest = sum(counts.values()) - sum(number for _, number in most)
        rows.append((f"… {len(counts) - _MOST} more", f"{rest:,}"))
    if rows:
        _print_table(output, (title, "COUNT"), rows)


def _print_tcp(output: Output, summary: Summary) -> None:
    """Print what TCP did on the connections with the most bytes."""
    largest = sorted(summary.tcp, key=lambda each: -each.request_bytes - each.response_bytes)
    rows = [tcp_row(each, each.tcp) for each in largest[:_MOST] if each.tcp is not None]
    if not rows:
        return
    _print_table(output, TCP_COLUMNS, rows, is_counted=False)
    if len(largest) > _MOST:
        output.line(f"… {count(len(largest) - _MOST, 'connection')} more, with fewer bytes")


def _print_table(
    output: Output,
    columns: Sequence[TableColumn | str],
    rows: Sequence[tuple[str, ...]],
    *,
    is_counted: bool = True,
) -> None:
    """Print rows, aligned in a pipe too: a summary is for people.

    Args:
        output: where to.
        columns: what the cells are.
        rows: a cell for each column.
        is_counted: whether all columns but the first stand to the right in a pipe.
    """
    output.line("")
    if output.is_terminal:
        print_table(output, columns, rows)
        return
    texts = [tuple(headers_of(columns)), *rows]
    if is_counted:
        first, *counts = zip(*texts, strict=True)
        aligned = ([text.rjust(max(map(len, column))) for text in column] for column in counts)
        texts = list(zip(first, *aligned, strict=True))
    for line in table(texts):
        output.line(line)
