"""The HTML page of `kdiag rebalance explain`: tables of the rebalances, and who waited for whom."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.rebalance.model import GroupHistory, GroupType, Phases, Rebalance
from kdiag.exchange.line.phrase import count
from kdiag.findings.finding import Finding
from kdiag_cli.commands.rebalance.bars import PHASE_NAMES, name_of
from kdiag_cli.commands.rebalance.text import columns_in, described, rebalance_row, words, zone_of
from kdiag_cli.output.chart import Grid, SpanChart, Stretch
from kdiag_cli.output.findings import finding_rows
from kdiag_cli.output.pages.html_page import Part, write_page
from kdiag_cli.output.table.layout import headers_of

T = TypeVar("T")

_WORDS: Final = frozenset({"REASON", "SLOWEST"})
_MOST_PICTURES: Final = 12
_MOST_MEMBERS: Final = 40


def write_rebalance_page(
    file: Path,
    histories: Sequence[GroupHistory],
    findings: Sequence[Finding],
    warnings: Sequence[str],
) -> None:
    """Write the page.

    Args:
        file: it is replaced if it exists.
        histories: of the groups.
        findings: what is wrong with them.
        warnings: what made the result less than it could be.

    Raises:
        ConfigError: if the file cannot be written, or the library that draws is missing.
    """
    write_page(file, "Rebalances", _parts(histories, findings, warnings))


def _parts(
    histories: Sequence[GroupHistory], findings: Sequence[Finding], warnings: Sequence[str]
) -> Iterator[Part]:
    if findings:
        yield Grid("Findings", ("ID", "SEVERITY", "WHAT", "FIX"), finding_rows(findings))
    yield from warnings
    for history in histories:
        zone = zone_of([history])
        headers = headers_of(columns_in(zone))
        rows = [rebalance_row(history, each, zone) for each in history.rebalances]
        title = f"Group {history.group}: {described(history)}"
        kept = [number for number, name in enumerate(headers) if name not in _WORDS]
        yield Grid(title, _cells(headers, kept), [_cells(row, kept) for row in rows])
        yield from _reasons(history)
        yield from _pictures(history)


def _cells(row: Sequence[T], kept: Sequence[int]) -> list[T]:
    """Return the cells of a row but those with long texts, which have a place of their own."""
    return [row[each] for each in kept]


def _reasons(history: GroupHistory) -> Iterator[Part]:
    """Yield a table of what clients and brokers gave as reasons, and of kdiag's own."""
    rows = [
        (each.generation, words(cause.cause), cause.reason or cause.note)
        for each in history.rebalances
        for cause in each.causes
        if cause.reason or cause.note
    ]
    if rows:
        yield Grid(f"Group {history.group}: reasons", ("GENERATION", "CAUSE", "REASON"), rows)


def _pictures(history: GroupHistory) -> Iterator[Part]:
    """Yield a picture of each of the rebalances that took longest."""
    seen = [each for each in history.rebalances if _members(each)]
    longest = sorted(seen, key=lambda each: -(each.duration_ns or 0))[:_MOST_PICTURES]
    for each in sorted(longest, key=lambda known: known.generation):
        yield _picture(history, each)
    others = len(seen) - len(longest)
    if others:
        have = "has" if others == 1 else "have"
        yield f"{count(others, 'rebalance')} took less time and {have} no picture."


def _picture(history: GroupHistory, rebalance: Rebalance) -> SpanChart:
    members = _members(rebalance)
    moments = [each.asked_ns for each in members if each.asked_ns is not None]
    first_ns = min(moments if rebalance.started_ns is None else [*moments, rebalance.started_ns])
    names = PHASE_NAMES[history.type is GroupType.CLASSIC]
    spans = [
        Stretch(name_of(each), name, (start - first_ns) / NS_PER_MS, (end - first_ns) / NS_PER_MS)
        for each in members
        for name, start, end in zip(
            names, (each.asked_ns, each.joined_ns), (each.joined_ns, each.synced_ns), strict=True
        )
        if start is not None and end is not None
    ]
    title = (
        f"Group {history.group}, generation {rebalance.generation}: {words(rebalance.cause.cause)}"
    )
    return SpanChart(title, "ms since its beginning", spans)


def _members(rebalance: Rebalance) -> list[Phases]:
    """Return the members that were seen to ask and to be told; of many those that asked last."""
    seen = [
        each
        for each in rebalance.phases.values()
        if each.asked_ns is not None and each.joined_ns is not None
    ]
    return sorted(seen, key=lambda each: each.asked_ns or 0)[-_MOST_MEMBERS:]
