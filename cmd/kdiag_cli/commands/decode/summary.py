"""The summary of a capture as text."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from kdiag.clock import NS_PER_S
from kdiag.exchange.line.phrase import count, size
from kdiag.exchange.summary.counts import Summary, Totals, kind_text
from kdiag_cli.output.tcp_text import HEADERS, tcp_row
from kdiag_cli.output.terminal import BOLD, YELLOW, Output, harmless, table

_MOST: Final = 20


def print_summary(output: Output, summary: Summary, totals: Totals) -> None:
    """Print what a capture holds, the most frequent first."""
    seconds = (totals.last_ns - totals.first_ns) / NS_PER_S
    output.line(
        f"{count(totals.packets, 'packet')}, {size(totals.bytes)}, {seconds:,.3f} s, "
        f"{count(totals.connections, 'connection')}, {count(summary.exchanges, 'exchange')}"
    )
    _print_apis(output, summary)
    protocols = Counter({each.value: number for each, number in summary.protocols.items()})
    for title, counts in (
        ("STATUS", Counter({each.value: number for each, number in summary.status.items()})),
        ("ERROR", summary.errors),
        ("CLIENT-ID", Counter({name or "-": n for name, n in summary.clients.items()})),
        ("CLIENT SOFTWARE", summary.software),
        ("TOPIC", summary.topics),
        ("PROTOCOL", protocols if set(protocols) - {"kafka"} else Counter()),
    ):
        _print_counts(output, title, counts)
    _print_tcp(output, summary)
    losses = []
    if totals.duplicates:
        losses.append(f"{count(totals.duplicates, 'segment')} carried nothing new")
    if totals.gaps:
        losses.append(f"{count(totals.gaps, 'gap')}, {size(totals.gap_bytes)} missing")
    for loss in losses:
        output.line("")
        output.line(output.paint(loss, YELLOW))
    for warning in totals.warnings:
        output.line(output.paint(harmless(warning), YELLOW))


def _print_apis(output: Output, summary: Summary) -> None:
    kinds = summary.requests | summary.responses
    if not kinds:
        return
    ordered = sorted(kinds, key=lambda kind: (-kinds[kind], kind_text(*kind)))
    requests = [f"{summary.requests[kind]:,}" for kind in ordered]
    responses = [f"{summary.responses[kind]:,}" for kind in ordered]
    widths = [
        max(len("REQUESTS"), *map(len, requests)),
        max(len("RESPONSES"), *map(len, responses)),
    ]
    rows = [("API", "REQUESTS".rjust(widths[0]), "RESPONSES".rjust(widths[1]))]
    for kind, request, response in zip(ordered, requests, responses, strict=True):
        rows.append((kind_text(*kind), request.rjust(widths[0]), response.rjust(widths[1])))
    _print_table(output, rows)


def _print_counts(output: Output, title: str, counts: "Counter[str]") -> None:
    if not counts:
        return
    most = counts.most_common(_MOST)
    width = max(len("COUNT"), *(len(f"{number:,}") for _, number in most))
    rows = [(title, "COUNT".rjust(width))]
    rows += [(harmless(name), f"{number:,}".rjust(width)) for name, number in most]
    if len(counts) > _MOST:
        rest = sum(counts.values()) - sum(number for _, number in most)
        rows.append((f"… {len(counts) - _MOST} more", f"{rest:,}".rjust(width)))
    _print_table(output, rows)


def _print_tcp(output: Output, summary: Summary) -> None:
    """Print what TCP did on the connections with the most bytes."""
    largest = sorted(summary.tcp, key=lambda each: -each.request_bytes - each.response_bytes)
    rows = [tcp_row(each, each.tcp) for each in largest[:_MOST] if each.tcp is not None]
    if not rows:
        return
    _print_table(output, [HEADERS, *rows])
    if len(largest) > _MOST:
        output.line(f"… {count(len(largest) - _MOST, 'connection')} more, with fewer bytes")


def _print_table(output: Output, rows: Sequence[tuple[str, ...]]) -> None:
    output.line("")
    head, *lines = table(rows)
    output.line(output.paint(head, BOLD))
    for line in lines:
        output.line(line)
