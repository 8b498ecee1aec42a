"""Findings: problems that kdiag found, each with its evidence and a fix.

The rules of each kind of finding are in the other modules of the folder; `found` adds the evidence.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from kdiag.findings import (
    buffers,
    clients,
    clusters,
    connections,
    coordinators,
    groups,
    latency,
    rebalances,
    tcp,
    traffic,
    transactions,
)
from kdiag.findings.rule import Rule, Severity, is_at_least, worst_of

__all__ = ["RULES", "Finding", "Rule", "Severity", "found", "is_at_least", "reason", "worst"]

RULES: Final[dict[str, Rule]] = {
    **connections.RULES,
    **clusters.RULES,
    **coordinators.RULES,
    **rebalances.RULES,
    **groups.RULES,
    **transactions.RULES,
    **dict(sorted((clients.RULES | traffic.RULES).items())),
    **dict(sorted((tcp.RULES | buffers.RULES).items())),
    **latency.RULES,
}
"""The rule of each id, by ascending id."""


_STYLE: Final = ("KD41", "KD4202")
_SEVERITIES: Final = tuple(Severity)
_SENTENCE_END: Final = re.compile(r"(?<=\.)\s+(?=[A-Z])")


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One problem; `msgspec.json` writes it in the shape of kdiag's JSON.

    Attributes:
        id: the id of its rule, such as `KD1203`.
        severity: how bad it is.
        title: the problem, one line.
        evidence: the observed facts, as plain values of JSON.
        fix: the remedy.
    """

    id: str
    severity: Severity
    title: str
    evidence: dict[str, Any]
    fix: str


def found(rule_id: str, **evidence: Any) -> Finding:
    """Return a finding of a rule.

    Args:
        rule_id: a key of `RULES`.
        evidence: plain values of JSON; at least those that the rule's title and fix mention.
    """
    rule = RULES[rule_id]
    return Finding(
        id=rule_id,
        severity=rule.severity,
        title=rule.title.format_map(evidence),
        evidence=evidence,
        fix=rule.fix.format_map(evidence),
    )


def is_style(finding: Finding) -> bool:
    """Return whether a finding is about what works and could be better: how clients write."""
    return finding.id.startswith(_STYLE)


def apart(findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Return the findings that are trouble, and those of style, each in their order."""
    trouble = [each for each in findings if not is_style(each)]
    return trouble, [each for each in findings if is_style(each)]


def by_harm(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings with the worst first, and those of style last; else in their order."""
    return sorted(findings, key=lambda each: (is_style(each), _SEVERITIES.index(each.severity)))


def worst(findings: Iterable[Finding]) -> Severity | None:
    """Return the worst severity of some findings; None without any."""
    return worst_of(each.severity for each in findings)


def reason(finding: Finding) -> str:
    """Return in one sentence what a finding means, or why it comes about; it ends in a period.

    Where the evidence has the usual cause of this very case, that is it; otherwise the first
    sentence of the rule's explanation.
    """
    usual = finding.evidence.get("usual_cause")
    if usual:
        return f"Usual cause: {usual}"
    return _SENTENCE_END.split(RULES[finding.id].explanation, maxsplit=1)[0]
