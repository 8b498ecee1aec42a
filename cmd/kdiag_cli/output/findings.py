"""Findings on stderr, beside a table, or in a verdict: what is wrong, and what to do about it.

    kdiag: error KD1101: nothing listens on 10.0.0.7:9092
    kdiag:   Start the broker, or give the port of one of its listeners.

A finding that comes many times is told once, with how often, and examples.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kdiag.findings.rule import Severity
from kdiag_cli.output.terminal import (
    BOLD,
    CYAN,
    RED,
    YELLOW,
    Output,
    harmless,
    print_paragraph,
    say,
)

if TYPE_CHECKING:
    from kdiag.findings.finding import Finding  # which loads all rules

_COLOURS: Final = {Severity.ERROR: RED, Severity.WARNING: YELLOW, Severity.INFO: CYAN}
_MOST: Final = 3
"""How many findings of one kind are printed one by one."""

_MOST_WHOLE: Final = 2
"""How many findings of a verdict have reason, advice and command on a terminal."""

_EXAMPLES: Final = 5
"""How many are named of more."""

_MEASURES: Final = ("lag", "blocked_records", "waited_ms", "age_s", "wait_s", "count")
"""The evidence by which findings of one kind are compared, if it is there."""


def say_findings(
    findings: "Iterable[Finding]",
    warnings: Iterable[str] = (),
    badness: "Callable[[Finding], tuple[int, ...]] | None" = None,
) -> None:
    """Tell on stderr what is wrong and what to do about it.

    Args:
        findings: in the order in which they are told.
        warnings: what made the result less than it could be.
        badness: returns by what the worst of many of one kind are chosen; by default by what their
            evidence counts, and then the first.
    """
    say(*warnings)
    print_findings(Output(sys.stderr), findings, badness, head="kdiag: ")


def print_findings(
    screen: Output,
    findings: "Iterable[Finding]",
    badness: "Callable[[Finding], tuple[int, ...]] | None" = None,
    more: "Callable[[Finding], str] | None" = None,
    *,
    head: str = "",
) -> None:
    """Print what is wrong and what to do about it.

    Args:
        screen: where to.
        findings: in the order in which they are told.
        badness: as in `say_findings`.
        more: returns the command that shows more of a finding; with it, each has its reason, too,
            but on a terminal only the first ones have more than a title, so that all fit a screen.
        head: begins each line.
    """
    kinds: dict[str, list[Finding]] = defaultdict(list)
    findings = list(findings)
    for finding in findings:
        kinds[finding.id].append(finding)
    most = len(findings) if more is None or not screen.is_terminal else _MOST_WHOLE
    for place, finding in enumerate(findings):
        alike = kinds[finding.id]
        if len(alike) <= _MOST and place >= most:
            print_paragraph(screen, _titled(screen, finding), head)
            continue
        if len(alike) <= _MOST:
            _print_one(screen, finding, head, has_reason=more is not None)
        elif finding is not alike[0]:
            continue
        else:
            _print_once(screen, sorted(alike, key=badness or _counted, reverse=True), head)
        if more is not None:
            print_paragraph(screen, f"more: {harmless(more(finding))}", f"{head}  ")
    screen.flush()


def finding_rows(findings: "Sequence[Finding]") -> list[tuple[str, str, str, str]]:
    """Return findings as rows of id, severity, title and fix; many of one kind as one.

    Args:
        findings: in the order in which they are told.
    """
    kinds: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        kinds[finding.id].append(finding)
    rows = []
    for alike in kinds.values():
        shown = alike
        if len(alike) > _MOST:
            shown = sorted(alike, key=_counted, reverse=True)[:1]
        for each in shown:
            title = each.title if shown is alike else f"{len(alike):,} times, such as {each.title}"
            rows.append((each.id, each.severity.value, title, each.fix))
    return rows


def _counted(finding: "Finding") -> tuple[int, ...]:
    """Return what the evidence of a finding counts."""
    values = (finding.evidence.get(name) for name in _MEASURES)
    return tuple(each if isinstance(each, int) else 0 for each in values)


def _titled(screen: Output, finding: "Finding") -> str:
    return f"{_name(screen, finding)}: {harmless(finding.title)}"


def _print_one(screen: Output, finding: "Finding", head: str, *, has_reason: bool) -> None:
    print_paragraph(screen, _titled(screen, finding), head)
    advice = finding.fix
    if has_reason:
        from kdiag.findings.finding import reason  # noqa: PLC0415 - 5 ms

        advice = f"{reason(finding)} {advice}"
    print_paragraph(screen, harmless(advice), f"{head}  ")


def _print_once(screen: Output, alike: "Sequence[Finding]", head: str) -> None:
    """Print many findings of one kind as one."""
    worst = alike[0]
    print_paragraph(screen, f"{_name(screen, worst)}: {len(alike):,} times, such as", head)
    for each in alike[:_EXAMPLES]:
        connection = each.evidence.get("connection")
        place = "" if connection is None else f"connection {connection}: "
        print_paragraph(screen, harmless(place + each.title), f"{head}  - ")
    print_paragraph(screen, harmless(worst.fix), f"{head}  ")


def _name(screen: Output, finding: "Finding") -> str:
    colour = _COLOURS[finding.severity]
    return f"{screen.paint(finding.severity, BOLD, colour)} {screen.paint(finding.id, BOLD)}"
