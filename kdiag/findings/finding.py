"""Findings: what kdiag holds to be wrong, why it thinks so, and what to do about it.

What each kind of finding means is in `kdiag.finding_rules`; `found` fills in what was seen.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from kdiag.findings import buffers, clients, clusters, connections, coordinators, latency, tcp
from kdiag.findings.rule import Rule, Severity

__all__ = ["RULES", "Finding", "Rule", "Severity", "found", "is_at_least", "worst"]

RULES: Final[dict[str, Rule]] = {
    **connections.RULES,
    **clusters.RULES,
    **coordinators.RULES,
    **clients.RULES,
    **tcp.RULES,
    **buffers.RULES,
    **latency.RULES,
}
"""What each id means, by ascending id."""

_ORDER: Final = tuple(Severity)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong; `msgspec.json` writes it in the shape of kdiag's JSON.

    Attributes:
        id: what kind of finding it is, such as `KD1203`.
        severity: how bad it is.
        title: what is wrong, one line.
        evidence: what was seen, as plain values of JSON.
        fix: what to do about it.
    """

    id: str
    severity: Severity
    title: str
    evidence: dict[str, Any]
    fix: str


def found(rule_id: str, **evidence: Any) -> Finding:
    """Return a finding of the kind that `rule_id` names.

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


def worst(findings: Iterable[Finding]) -> Severity | None:
    """Return the worst severity among findings; None when there is none."""
    return min((each.severity for each in findings), key=_ORDER.index, default=None)


def is_at_least(severity: Severity, bar: Severity) -> bool:
    """Return whether a severity is as bad as another, or worse."""
    return _ORDER.index(severity) <= _ORDER.index(bar)
