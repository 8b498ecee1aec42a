"""Findings on stderr, beside a table: what is wrong, and what to do about it.

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
_MOST: Final = 8
"""How many findings of one kind are told one by one."""

_EXAMPLES: Final = 5
"""How many are named of more."""


def say_findings(
    findings: "Iterable[Finding]",
    warnings: Iterable[str] = (),
    badness: "Callable[[Finding], tuple[int, ...]] | None" = None,
) -> None:
    """Tell on stderr what is wrong and what to do about it.

    Args:
        findings: in the order in which they are told.
        warnings: what made the result less than it could be.
        badness: returns by what the worst of many of one kind are chosen; by default the first are.
    """
    say(*warnings)
    kinds: dict[str, list[Finding]] = defaultdict(list)
    findings = list(findings)
    for finding in findings:
        kinds[finding.id].append(finding)
    screen = Output(sys.stderr)
    for finding in findings:
        alike = kinds[finding.id]
        if len(alike) <= _MOST:
            _say_one(screen, finding)
        elif finding is alike[0]:
            _say_once(screen, sorted(alike, key=badness, reverse=True) if badness else alike)
    screen.flush()


def _say_one(screen: Output, finding: "Finding") -> None:
    print_paragraph(screen, f"{_name(screen, finding)}: {harmless(finding.title)}", "kdiag: ")
    print_paragraph(screen, harmless(finding.fix), "kdiag:   ")


def _say_once(screen: Output, alike: "Sequence[Finding]") -> None:
    """Tell many findings of one kind as one."""
    worst = alike[0]
    print_paragraph(screen, f"{_name(screen, worst)}: {len(alike):,} times, such as", "kdiag: ")
    for each in alike[:_EXAMPLES]:
        connection = each.evidence.get("connection")
        place = "" if connection is None else f"connection {connection}: "
        print_paragraph(screen, harmless(place + each.title), "kdiag:   - ")
    print_paragraph(screen, harmless(worst.fix), "kdiag:   ")


def _name(screen: Output, finding: "Finding") -> str:
    colour = _COLOURS[finding.severity]
    return f"{screen.paint(finding.severity, BOLD, colour)} {screen.paint(finding.id, BOLD)}"
