"""What is wrong with a coordinator, and what to do about it."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from kdiag.diagnosis.coordinator import CoordinatorFacts, CoordinatorReport
from kdiag.findings.finding import Finding, found

NOT_AUTHORIZED: Final = frozenset(
    {
        "GROUP_AUTHORIZATION_FAILED",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
        "TOPIC_AUTHORIZATION_FAILED",
    }
)
_NOT_AVAILABLE: Final = "COORDINATOR_NOT_AVAILABLE"


def find(reports: Sequence[CoordinatorReport], facts: CoordinatorFacts) -> list[Finding]:
    """Return what is wrong: first what concerns whole brokers, once each, then key by key."""
    findings = list(_of_brokers(reports, facts))
    for report in reports:
        findings += _of_key(report)
    return findings


def _of_brokers(reports: Sequence[CoordinatorReport], facts: CoordinatorFacts) -> Iterator[Finding]:
    """Find brokers that did not answer, or are not ready to.

    If none of them can be reached, though somebody named them, their addresses are to blame.
    """
    coordinators = {report.coordinator for report in reports}
    rule_id = "KD1501" if facts.is_nobody_reachable else "KD3007"
    for node_id, why in sorted(facts.unreachable.items()):
        broker = facts.brokers.get(node_id)
        if broker not in coordinators:
            where = "an unknown address" if broker is None else str(broker)
            yield found(rule_id, node_id=node_id, address=where, why=why)
    for node_id in sorted(facts.loading):
        yield found("KD3003", node_id=node_id)


def _of_key(report: CoordinatorReport) -> Iterator[Finding]:
    """Find what is wrong with one key."""
    subject = {"kind": report.kind.noun, "key": report.key}
    if report.coordinator is None:
        yield from _without_coordinator(report, subject)
    elif not report.reachable:
        yield found(
            "KD3006",
            **subject,
            node_id=report.coordinator.node_id,
            address=str(report.coordinator),
            why=report.why_unreachable,
        )
    if not report.agreement:
        yield _disagreement(report, subject)
    elif not report.is_where_its_partition_leads:
        assert report.coordinator is not None
        assert report.partition is not None
        yield found(
            "KD3005",
            **subject,
            coordinator=report.coordinator.node_id,
            topic=report.partition.topic,
            partition=report.partition.partition,
            leader=report.partition.leader,
        )
    yield from _of_partition(report, subject)


def _without_coordinator(report: CoordinatorReport, subject: dict[str, str]) -> Iterator[Finding]:
    """Find why nobody was named."""
    if report.error is None:
        return  # nobody answered at all: each broker's silence is found already
    if report.error in NOT_AUTHORIZED:
        yield found("KD4001", **subject, error=report.error)
    elif report.error != _NOT_AVAILABLE:
        yield found("KD3010", **subject, error=report.error, message=report.message)
    elif report.partition is None:
        yield found("KD3001", **subject, topic=report.kind.topic)
    elif report.partition.leader is not None:
        yield found("KD3010", **subject, error=report.error, message=report.message)


def _disagreement(report: CoordinatorReport, subject: dict[str, str]) -> Finding:
    """Return the finding that brokers disagree, with who says what."""
    opinions: dict[str, list[int]] = defaultdict(list)
    for answer in report.answers:
        if answer.failure is None:
            named = answer.error or f"broker {answer.coordinator and answer.coordinator.node_id}"
            opinions[named].append(answer.node_id)
    ranked = sorted(opinions.items(), key=lambda item: -len(item[1]))
    return found(
        "KD3004",
        **subject,
        opinions="; ".join(f"{named} by {_listed(nodes)}" for named, nodes in ranked),
        minority=_listed([node for _, nodes in ranked[1:] for node in nodes]),
    )


def _of_partition(report: CoordinatorReport, subject: dict[str, str]) -> Iterator[Finding]:
    """Find what is wrong with the partition that keeps the key."""
    place = report.partition
    if place is None:
        return
    where = {**subject, "topic": place.topic, "partition": place.partition}
    if place.leader is None:
        yield found("KD3002", **where, candidates=_listed(place.isr or place.replicas))
        return
    if len(place.isr) == len(place.replicas):
        return
    copies = {"isr": _listed(place.isr), "replicas": _listed(place.replicas)}
    if place.min_isr is not None and len(place.isr) < place.min_isr:
        yield found("KD3009", **where, **copies, min_isr=place.min_isr)
    else:
        yield found("KD3008", **where, **copies)


def _listed(nodes: Sequence[int]) -> str:
    """Return broker ids as text."""
    return ", ".join(str(node) for node in nodes)
