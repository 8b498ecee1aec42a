"""Coordinators: the answers of all brokers about a group, and the conclusions.

    facts      broker 1: coordinator is 2     broker 2: 2     broker 3: 1
               __consumer_offsets[17] is led by 2, in sync on 2 and 3
    report     billing: coordinator 2 (majority), in partition 17, the brokers disagree
    findings   KD3004: broker 3 says 1

`CoordinatorFacts` are the brokers' answers about some keys. `report_on` concludes for one key who
coordinates it and where its state is kept; `find` names what does not fit together.

Source: Kafka's FindCoordinator, Metadata and ListGroups APIs; KIP-699 (many keys), KIP-848 and
KIP-932 (group types).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

from kdiag.diagnosis.connection_finding import of_hanging_broker
from kdiag.findings.finding import Finding, found
from kdiag.net.address import host_and_port
from kdiag.wire.coordinator_partition import CoordinatorKind, coordinator_partition

NOT_AUTHORIZED: Final = frozenset(
    {
        "GROUP_AUTHORIZATION_FAILED",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
        "TOPIC_AUTHORIZATION_FAILED",
    }
)
_NOT_AVAILABLE: Final = "COORDINATOR_NOT_AVAILABLE"
_NO_PATHS: Final[Mapping[int, Sequence[str]]] = {}


class BrokerNode(msgspec.Struct, frozen=True):
    """A broker, as the cluster's metadata or a coordinator's answer advertises it."""

    node_id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        return host_and_port(self.host, self.port)


class BrokerAnswer(msgspec.Struct, kw_only=True):
    """One broker's answer to the question who coordinates a key.

    Attributes:
        node_id: the broker that was asked.
        coordinator: the broker that it named; None if it named none.
        error: the name of Kafka's error; None without an error, and without an answer.
        failure: why there was no answer (`refused`, `timed out`); None if there was one.
        message: the message with the error.
        rtt_ns: from the request's last byte to the answer; None without an answer.
    """

    node_id: int
    coordinator: BrokerNode | None = None
    error: str | None = None
    failure: str | None = None
    message: str | None = None
    rtt_ns: int | None = None


class PartitionPlace(msgspec.Struct, kw_only=True):
    """The leader and replicas of a partition of an internal topic, by the cluster's metadata.

    Attributes:
        leader: the broker that leads it; None if it is offline.
        error: the name of the partition's error, such as `LEADER_NOT_AVAILABLE`.
        min_isr: the topic's min.insync.replicas; None if it could not be read.
    """

    topic: str
    partition: int
    leader: int | None
    replicas: Sequence[int]
    isr: Sequence[int]
    error: str | None = None
    min_isr: int | None = None


class GroupState(msgspec.Struct):
    """Kafka's type (`classic`, `consumer`, `share`, `streams`) and state of a group."""

    type: str
    state: str


class InternalTopic(msgspec.Struct, kw_only=True):
    """The internal topic of one kind of coordinators, by the cluster's metadata.

    Attributes:
        name: the topic.
        partitions: all partitions by number; empty if it does not exist or is not visible.
        error: the name of the error for the topic as a whole.
    """

    name: str
    partitions: Mapping[int, PartitionPlace]
    error: str | None = None


class CoordinatorFacts(msgspec.Struct, kw_only=True):
    """A cluster's answers about some keys of one kind.

    Attributes:
        kind: the kind of the keys.
        brokers: every broker by id.
        unreachable: why a broker's advertised address cannot be used from here, by broker.
        answers: the answer of each broker, by key.
        topic: the internal topic; None if it is not known.
        groups: type and state, by key, of the groups (and transactions) that exist.
        loading: the brokers that still load the state that they coordinate.
        unknown: the groups of which nobody tells whether they exist.
        hanging: the unreachable brokers that accept connections and say nothing.
    """

    kind: CoordinatorKind
    brokers: Mapping[int, BrokerNode]
    unreachable: Mapping[int, str]
    answers: Mapping[str, Sequence[BrokerAnswer]]
    topic: InternalTopic | None
    groups: Mapping[str, GroupState]
    loading: AbstractSet[int] = frozenset()
    unknown: AbstractSet[str] = frozenset()
    hanging: AbstractSet[int] = frozenset()

    @property
    def is_nobody_reachable(self) -> bool:
        """Return whether none of the brokers can be used at the address that it advertises."""
        return bool(self.brokers) and set(self.brokers) <= set(self.unreachable)


class CoordinatorReport(msgspec.Struct, kw_only=True):
    """The coordinator of a key, and whether all brokers and the partition agree.

    Attributes:
        key: the group, transactional id or share partition.
        kind: the kind of the key.
        coordinator: the broker that most brokers name; None if none does.
        error: the name of Kafka's error if no coordinator is named.
        message: a broker's message with the error.
        partition: the partition with its state; None if the internal topic is not known.
        answers: the answers of all brokers, in the order of broker ids.
        reachable: whether the coordinator's advertised address can be used from here.
        why_unreachable: why not.
        group: type and state; None for a group that does not exist, or is not known.
        is_group_known: whether its coordinator told whether the group exists.
    """

    key: str
    kind: CoordinatorKind
    coordinator: BrokerNode | None
    error: str | None
    message: str | None
    partition: PartitionPlace | None
    answers: Sequence[BrokerAnswer]
    reachable: bool
    why_unreachable: str | None
    group: GroupState | None
    is_group_known: bool = True

    @property
    def agreement(self) -> bool:
        """Return whether all answers are the same."""
        return len({_opinion(answer) for answer in self.answers if answer.failure is None}) < 2  # noqa: PLR2004 - one opinion

    @property
    def silent(self) -> list[BrokerAnswer]:
        """Return the brokers that did not answer."""
        return [answer for answer in self.answers if answer.failure is not None]

    @property
    def is_where_its_partition_leads(self) -> bool:
        """Return whether the coordinator leads the partition; True if that is not known."""
        if self.coordinator is None or self.partition is None:
            return True
        return self.partition.leader in {None, self.coordinator.node_id}


def report_on(key: str, facts: CoordinatorFacts) -> CoordinatorReport:
    """Return the report on a key."""
    answers = sorted(facts.answers.get(key, ()), key=lambda answer: answer.node_id)
    coordinator = _majority(answers, facts.brokers)
    refusal = next((answer for answer in answers if answer.error), None)
    if coordinator is not None:
        refusal = None
    why = None if coordinator is None else facts.unreachable.get(coordinator.node_id)
    return CoordinatorReport(
        key=key,
        kind=facts.kind,
        coordinator=coordinator,
        error=refusal.error if refusal else None,
        message=refusal.message if refusal else None,
        partition=_place(key, facts.topic),
        answers=answers,
        reachable=coordinator is not None and why is None,
        why_unreachable=why,
        group=facts.groups.get(key),
        is_group_known=key not in facts.unknown,
    )


def _opinion(answer: BrokerAnswer) -> tuple[int | None, str | None]:
    """Return the content of an answer, to compare it with others."""
    return (None if answer.coordinator is None else answer.coordinator.node_id, answer.error)


def _majority(
    answers: Sequence[BrokerAnswer], brokers: Mapping[int, BrokerNode]
) -> BrokerNode | None:
    """Return the broker that most answers name, with its rack; the first named of equals."""
    votes = Counter(answer.coordinator for answer in answers if answer.coordinator is not None)
    if not votes:
        return None
    ((named, _),) = votes.most_common(1)
    known = brokers.get(named.node_id)
    rack = None if known is None else known.rack
    return BrokerNode(named.node_id, named.host, named.port, rack)


def _place(key: str, topic: InternalTopic | None) -> PartitionPlace | None:
    """Return the partition that keeps a key."""
    if topic is None or not topic.partitions:
        return None
    return topic.partitions.get(coordinator_partition(key, len(topic.partitions)))


def last_copies_advice(
    holders: Sequence[int],
    alive: AbstractSet[int],
    failed: Mapping[int, Sequence[str]] = _NO_PATHS,
) -> str:
    """Return how the last copies of partitions without a leader come back.

    Args:
        holders: the brokers that hold them.
        alive: the brokers that run: to start them is no advice.
        failed: the log directories that failed, as far as brokers reported them, by node id.
    """
    dead = [each for each in holders if each not in alive]
    parts = []
    if dead:
        parts.append(f"start {f'one of brokers {_listed(dead)}' if dead[1:] else _broker(dead)}")
    for node_id in holders:
        paths = failed.get(node_id)
        if paths:
            parts.append(
                f"mend the disk of {', '.join(paths)} on broker {node_id}, and restart that broker"
            )
        elif node_id in alive:
            parts.append(
                f"see the log of broker {node_id}, which runs, for a log directory that failed"
            )
    text = ", or ".join(parts or [f"start {_broker(())}"])
    return f"{text[:1].upper()}{text[1:]}"


def find(
    reports: Sequence[CoordinatorReport],
    facts: CoordinatorFacts,
    failed: Mapping[int, Sequence[str]] = _NO_PATHS,
) -> list[Finding]:
    """Return the problems: first those of whole brokers, once each, then key by key.

    Args:
        reports: of the keys.
        facts: that they are from.
        failed: as in `last_copies_advice`.
    """
    findings = list(_of_brokers(reports, facts))
    for report in reports:
        findings += _of_key(report, facts, failed)
    return findings


def _of_brokers(reports: Sequence[CoordinatorReport], facts: CoordinatorFacts) -> Iterator[Finding]:
    """Find brokers that did not answer, or are still loading.

    If none of them is reachable, though other brokers named them, their addresses are to blame.
    """
    coordinators = {report.coordinator for report in reports}
    for node_id, why in sorted(facts.unreachable.items()):
        broker = facts.brokers.get(node_id)
        if broker not in coordinators:
            address = None if broker is None else str(broker)
            where = "" if broker is None else f" at {broker}"
            is_address = facts.is_nobody_reachable and node_id not in facts.hanging
            rule_id = "KD1501" if is_address else "KD3007"
            finding = found(rule_id, node_id=node_id, address=address, where=where, why=why)
            yield _with_fix(finding, node_id, facts)
    for node_id in sorted(facts.loading):
        yield found("KD3003", node_id=node_id)


def _with_fix(finding: Finding, node_id: int, facts: CoordinatorFacts) -> Finding:
    """Return a finding about a broker; one that hangs has no wrong address."""
    return of_hanging_broker(finding, node_id) if node_id in facts.hanging else finding


def _of_key(
    report: CoordinatorReport, facts: CoordinatorFacts, failed: Mapping[int, Sequence[str]]
) -> Iterator[Finding]:
    """Find the problems of one key."""
    subject = {"kind": report.kind.noun, "key": report.key}
    if report.coordinator is None:
        yield from _without_coordinator(report, subject)
    elif not report.reachable:
        unusable = found(
            "KD3006",
            **subject,
            node_id=report.coordinator.node_id,
            address=str(report.coordinator),
            why=report.why_unreachable,
        )
        yield _with_fix(unusable, report.coordinator.node_id, facts)
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
    alive = facts.brokers.keys() - facts.unreachable.keys()
    yield from _of_partition(report, subject, alive, failed)


def _without_coordinator(report: CoordinatorReport, subject: dict[str, str]) -> Iterator[Finding]:
    """Find the reason why no coordinator was named."""
    if report.error is None:
        return  # no broker answered: each broker's silence is a finding already
    if report.error in NOT_AUTHORIZED:
        yield found("KD4001", **subject, error=report.error)
    elif report.error != _NOT_AVAILABLE:
        yield found("KD3010", **subject, error=report.error, message=report.message)
    elif report.partition is None:
        yield found("KD3001", **subject, topic=report.kind.topic)
    elif report.partition.leader is not None:
        yield found("KD3010", **subject, error=report.error, message=report.message)


def _disagreement(report: CoordinatorReport, subject: dict[str, str]) -> Finding:
    """Return the finding that brokers disagree, with the brokers of each opinion."""
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


def _of_partition(
    report: CoordinatorReport,
    subject: dict[str, str],
    alive: AbstractSet[int],
    failed: Mapping[int, Sequence[str]],
) -> Iterator[Finding]:
    """Find the problems of the partition that keeps the key."""
    place = report.partition
    if place is None:
        return
    where = {**subject, "topic": place.topic, "partition": place.partition}
    if place.leader is None:
        holders = place.isr or place.replicas
        candidates = f"one of brokers {_listed(holders)}" if len(holders) > 1 else _broker(holders)
        advice = last_copies_advice(holders, alive, failed)
        yield found("KD3002", **where, candidates=candidates, advice=advice)
        return
    if len(place.isr) == len(place.replicas):
        return
    copies = {"isr": _listed(place.isr), "replicas": _listed(place.replicas)}
    if place.min_isr is not None and len(place.isr) < place.min_isr:
        yield found("KD3009", **where, **copies, min_isr=place.min_isr)
    else:
        yield found("KD3008", **where, **copies)


def _broker(nodes: Sequence[int]) -> str:
    """Return the only one of some brokers."""
    return f"broker {nodes[0]}" if nodes else "the broker that led it"


def _listed(nodes: Sequence[int]) -> str:
    """Return broker ids as text."""
    return ", ".join(str(node) for node in nodes)
