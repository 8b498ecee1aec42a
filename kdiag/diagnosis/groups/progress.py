"""What two looks at groups show that one does not: who stands still, falls behind, was replaced.

    look 1   member m-1 is instance a, at 10.0.0.1
    look 2   member m-2 is instance a, at 10.0.0.2    the program at 10.0.0.1 is fenced, if it lives

One such change is what a restart looks like; a second one of the same instance is two programs that
take its place from each other.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.groups.model import Group, GroupsReport
from kdiag.diagnosis.groups.rates import GroupRates
from kdiag.findings.finding import Finding, found

_LEAST_GROWTH: Final = 1_000
"""So many records more between two looks are worth a word."""


def find_between(
    before: GroupsReport, after: GroupsReport, rates: Mapping[str, GroupRates]
) -> list[Finding]:
    """Return what two looks show of the groups that both have.

    Args:
        before: the first look.
        after: the second one.
        rates: of these groups, from the two.
    """
    span_s = round((after.at_ns - before.at_ns) / NS_PER_S, 1)
    known = {each.group: each for each in before.groups}
    findings: list[Finding] = []
    for group in after.groups:
        if group.group in rates:
            findings += _stuck(group, rates[group.group], span_s)
            findings += _growing(known[group.group], group, rates[group.group], span_s)
            findings += _replaced(known[group.group], group, span_s)
    return findings


def _stuck(group: Group, rates: GroupRates, span_s: float) -> Iterator[Finding]:
    if rates.stuck is not None:
        yield found("KD3415", group=group.group, span_s=span_s, why=rates.stuck)


def _growing(before: Group, after: Group, rates: GroupRates, span_s: float) -> Iterator[Finding]:
    """Yield that a group with members reads, and is further behind than it was."""
    growth = (after.lag or 0) - (before.lag or 0)
    if rates.stuck is not None or before.lag is None or not after.members:
        return
    if not (before.lag_amount.is_whole and after.lag_amount.is_whole):
        return  # what one look knows and the other does not is no growth
    consumed, produced = rates.consumed_per_s or 0, rates.produced_per_s or 0
    if growth >= _LEAST_GROWTH and consumed < produced:
        yield found(
            "KD3420",
            group=after.group,
            growth=growth,
            span_s=span_s,
            consumed_per_s=consumed,
            produced_per_s=produced,
            lag=after.lag,
        )


def _replaced(before: Group, after: Group, span_s: float) -> Iterator[Finding]:
    """Yield the static members whose place another member has taken."""
    old = {each.instance_id: each for each in before.members or () if each.instance_id}
    for each in after.members or ():
        was = old.get(each.instance_id or "")
        if was is not None and was.member_id != each.member_id:
            yield found(
                "KD3421",
                group=after.group,
                span_s=span_s,
                instance_id=each.instance_id,
                host=each.host,
                host_before=was.host,
                client_id=each.client_id,
                client_id_before=was.client_id,
            )
