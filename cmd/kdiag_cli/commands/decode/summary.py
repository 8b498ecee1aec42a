"""The summary of a capture as text."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from math import log10
from typing import Final

from kdiag.clock import NS_PER_S
from kdiag.exchange.line.phrase import count, size
from kdiag.exchange.line.shown_time import span_of_days, time_of_day
from kdiag.exchange.model import Status
from kdiag.exchange.summary.counts import Summary, Totals, kind_text
from kdiag.exchange.summary.measures import LatencySummary, Measures
from kdiag_cli.output.exchanges.text import not_understood_text, protocol_text
from kdiag_cli.output.table.layout import TableColumn, headers_of
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.tcp_text import TCP_COLUMNS, tcp_row
from kdiag_cli.output.terminal import YELLOW, Output, harmless, print_paragraph, table
from kdiag_cli.output.units import duration

_MOST: Final = 20
_BAR_HEADER: Final = "P50█ P99░"
_BAR_COLUMNS: Final = 9
_MARGIN: Final = 0.3  # below the least, so that it has a bar, too
_WHOLE: Final = 10
_API_COLUMNS: Final = (
    TableColumn("API"),
    TableColumn("REQUESTS"),
    TableColumn("RESPONSES"),
    TableColumn("BYTES", 1),
    TableColumn("P50", 2),
    TableColumn("P99"),
    TableColumn(_BAR_HEADER, 4),
    TableColumn("MAX", 3),
)
_SLOWEST_COLUMNS: Final = (
    TableColumn("SLOWEST"),
    TableColumn("TOOK"),
    TableColumn("API"),
    TableColumn("CLIENT-ID"),
    TableColumn("CLIENT", 2),
    TableColumn("BROKER", 1),
    TableColumn("TIME", 3),
)


_NONE: Final[Mapping[str, int]] = {}


def print_head(output: Output, summary: Summary, totals: Totals) -> None:
    """Print how much a capture holds, from when to when, and how many requests failed."""
    seconds = (totals.last_ns - totals.first_ns) / NS_PER_S
    print_paragraph(
        output,
        f"{count(totals.packets, 'packet')}, {size(totals.bytes)}, {seconds:,.3f} s, "
        f"{count(totals.connections, 'connection')}, {count(summary.exchanges, 'exchange')}",
    )
    if totals.first_ns:
        print_paragraph(output, _when_and_how_fast(summary, totals))
    if summary.exchanges:
        print_paragraph(output, health(summary))


def print_tables(
    output: Output,
    summary: Summary,
    totals: Totals,
    rebalances: Mapping[str, int] = _NONE,
    groups: Mapping[str, int] = _NONE,
) -> None:
    """Print what a capture holds, the most frequent first; what went wrong before the traffic.

    Args:
        output: where to.
        summary: of the exchanges.
        totals: of the capture.
        rebalances: how many groups rebalanced for each cause.
        groups: how often each group rebalanced.
    """
    status = Counter({each.value: number for each, number in summary.status.items()})
    _print_counts(output, "STATUS", status)
    _print_counts(output, "ERROR", summary.errors)
    _print_apis(output, summary)
    protocols = Counter({protocol_text(each): n for each, n in summary.protocols.items()})
    for title, counts in (
        ("BROKER", summary.brokers),
        ("CLIENT-ID", Counter({name or "-": n for name, n in summary.clients.items()})),
        ("CLIENT SOFTWARE", summary.software),
        ("TOPIC", summary.topics),
        ("GROUP", Counter(groups)),
        ("REBALANCE", Counter({cause.replace("_", " "): n for cause, n in rebalances.items()})),
        ("PROTOCOL", protocols if set(protocols) - {"Kafka"} else Counter()),
        ("TROUBLE", Counter({f"{at}: {why}": n for (at, why), n in summary.troubles.items()})),
    ):
        _print_counts(output, title, counts)
    _print_slowest(output, summary)
    _print_tcp(output, summary)
    losses = []
    if totals.sightings:
        times = count(totals.sightings, "time")
        losses.append(f"connections seen once more with other addresses: {times}; counted once")
    if totals.duplicates:
        losses.append(f"{count(totals.duplicates, 'segment')} carried nothing new")
    if totals.gaps:
        losses.append(gaps_text(totals))
    if totals.not_understood:
        losses.append(not_understood_text(totals))
    for loss in losses:
        output.line("")
        print_paragraph(output, output.paint(loss, YELLOW))
    for warning in totals.warnings:
        print_paragraph(output, output.paint(harmless(warning), YELLOW))
    if totals.closing_line:
        output.line("")
        print_paragraph(output, totals.closing_line)


def health(summary: Summary) -> str:
    """Return how many requests failed: `243 requests: 35 answered with an error, 2 unanswered`."""
    status = summary.status
    unread = {
        "unanswered": status[Status.UNANSWERED],
        "incomplete": status[Status.PARTIAL],
        "malformed": status[Status.MALFORMED],
    }
    parts = [f"{summary.errors.total():,} answered with an error"]
    parts += [f"{number:,} {name}" for name, number in unread.items() if number]
    return f"{count(summary.requests.total(), 'request')}: {', '.join(parts)}"


def gaps_text(totals: Totals) -> str:
    """Return how much is missing: `24 gaps, 1.7 MB missing`."""
    return f"{count(totals.gaps, 'gap')}, {size(totals.gap_bytes)} missing"


def _print_apis(output: Output, summary: Summary) -> None:
    kinds = summary.requests | summary.responses
    ordered = sorted(kinds, key=lambda kind: (-kinds[kind], kind_text(*kind)))
    requests, responses = summary.requests, summary.responses
    measured = {kind: summary.measures.get(kind) for kind in ordered}
    latencies = {kind: None if each is None else each.latency() for kind, each in measured.items()}
    scale = _LatencyScale(latencies.values())
    rows = [
        (
            kind_text(*kind),
            f"{requests[kind]:,}",
            f"{responses[kind]:,}",
            *_measured(measured[kind], latencies[kind], scale),
        )
        for kind in ordered
    ]
    if not rows:
        return
    if output.is_terminal:
        _print_table(output, _API_COLUMNS, rows)
    else:  # where a line may be read by the position of its words
        columns = [each for each in _API_COLUMNS if each.header != _BAR_HEADER]
        _print_table(output, columns, [(*row[:6], *row[7:]) for row in rows])


def _measured(
    measures: Measures | None, latency: LatencySummary | None, scale: "_LatencyScale"
) -> tuple[str, ...]:
    """Return bytes, the median and the 99th percentile with a bar, and the longest latency."""
    if measures is None:
        return ("-",) * 5
    total = size(measures.request_bytes + measures.response_bytes)
    if latency is None:
        return (total, *("-",) * 4)
    p50, p99, longest = map(duration, (latency.p50_ns, latency.p99_ns, latency.max_ns))
    return total, p50, p99, scale.bar(latency), longest


class _LatencyScale:
    """Draws latencies as bars, each tenfold as wide as the one before: 1 ms, 10 ms, 100 ms."""

    def __init__(self, latencies: Iterable[LatencySummary | None]) -> None:
        known = [each for each in latencies if each is not None]
        self._least = log10(max(1, min((each.p50_ns for each in known), default=1))) - _MARGIN
        self._most = log10(max(1, max((each.p99_ns for each in known), default=1)))

    def bar(self, latency: LatencySummary) -> str:
        """Return a bar up to the 99th percentile, darker up to the median."""
        p50, p99 = self._columns(latency.p50_ns), self._columns(latency.p99_ns)
        return "█" * p50 + "░" * (p99 - p50)

    def _columns(self, time_ns: int) -> int:
        share = (log10(max(1, time_ns)) - self._least) / (self._most - self._least)
        return max(1, round(share * _BAR_COLUMNS))


def _when_and_how_fast(summary: Summary, totals: Totals) -> str:
    """Return from when to when the capture is, and how much there is in a second."""
    text = span_of_days(totals.first_ns, totals.last_ns)
    span_ns = totals.last_ns - totals.first_ns
    if span_ns < NS_PER_S:
        return text
    per_s = summary.exchanges * NS_PER_S / span_ns
    bytes_per_s = size(totals.bytes * NS_PER_S // span_ns)
    return f"{text}, {per_s:,.{0 if per_s >= _WHOLE else 1}f} exchanges/s, {bytes_per_s}/s"


def _print_slowest(output: Output, summary: Summary) -> None:
    """Print the exchanges that took longest, without what they were allowed to wait."""
    rows = [
        (
            str(each.number),
            duration(each.net_ns),
            "unknown" if each.api is None else f"{each.api} v{each.version}",
            harmless(each.client_id or "-"),
            each.client,
            each.broker,
            time_of_day(each.time_ns),
        )
        for each in summary.slowest.exchanges()
    ]
    if rows:
        _print_table(output, _SLOWEST_COLUMNS, rows, is_counted=False)


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
    largest = list(islice(summary.tcp.largest(), _MOST))
    rows = [tcp_row(each, each.tcp) for each in largest if each.tcp is not None]
    if not rows:
        return
    _print_table(output, TCP_COLUMNS, rows, is_counted=False)
    more = len(summary.tcp) + summary.tcp.left_out - len(largest)
    if more:
        output.line(f"… {count(more, 'connection')} more, with fewer bytes")


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
