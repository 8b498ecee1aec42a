"""The stages of the cluster: its controllers, and its partitions.

The controllers' quorum needs a leader. A partition needs one too, and replicas in sync: as many as
`min.insync.replicas`, better all of them, best with the preferred one as leader. A partition counts
where it is worst: one without a leader is not under-replicated as well.

Source: Kafka's Metadata and DescribeQuorum; KIP-112 (offline replicas), KIP-1073 (fenced brokers).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from kdiag.diagnosis.check.disks import disk_findings, failed_dirs
from kdiag.diagnosis.check.facts import CheckFacts, TierRead, TopicTier
from kdiag.diagnosis.check.report import (
    CheckPart,
    CheckRow,
    CheckStage,
    CheckStatus,
    listed,
    status_of,
)
from kdiag.diagnosis.coordinator import last_copies_advice
from kdiag.errors import Fault
from kdiag.findings.finding import Finding, found
from kdiag.wire import api_keys
from kdiag.wire.api.describe_quorum import ResponsePartitionData
from kdiag.wire.api.metadata import MetadataResponsePartition
from kdiag.wire.error_code import CODE_BY_NAME, error_name

_SHOWN: Final = 5
_LAST_WITH_NAMES: Final = 5
"""Later versions of DeleteTopics have another form."""
_DENIED: Final = CODE_BY_NAME["CLUSTER_AUTHORIZATION_FAILED"]
_NO_MAJORITY: Final = "See the controllers' logs: too few of them may be up for a majority"
_HUNG: Final = (
    "Look at that controller: it may be stopped, or its machine. The others elect another one "
    "after controller.quorum.fetch.timeout.ms, if they are a majority"
)


def judge_quorum(facts: CheckFacts) -> CheckPart:
    """Return a row for the controllers; nothing without a quorum, or without the right to ask."""
    assert facts.metadata is not None
    if facts.is_quorum_silent:
        row = CheckRow(stage=CheckStage.METADATA, status=CheckStatus.ERROR, target="controllers")
        row.detail = _why_silent(facts)
        return CheckPart(rows=[row], findings=[found("KD2008", why=row.detail, advice=_HUNG)])
    if facts.quorum is None or facts.quorum.error_code == _DENIED:
        return CheckPart()
    partitions = [each for topic in facts.quorum.topics for each in topic.partitions]
    if not partitions or partitions[0].error_code == _DENIED:
        return CheckPart()
    return _of_quorum(partitions[0], facts)


def _why_silent(facts: CheckFacts) -> str:
    """Return which controller brokers wait for: they answer all else, and pass this on to it.

    No broker names it. A node that accepts connections and says nothing is the likely one.
    """
    silent = _silent_nodes(facts)
    probable = f", probably node {silent[0]}," if len(silent) == 1 else ""
    return f"the active controller{probable} does not answer"


def _silent_nodes(facts: CheckFacts) -> list[int]:
    return [
        each.node_id
        for each in facts.listeners
        if each.node_id is not None
        and each.best is None
        and any(error.fault in {Fault.SILENT, Fault.DROPPED} for error in each.errors)
    ]


def _of_quorum(quorum: ResponsePartitionData, facts: CheckFacts) -> CheckPart:
    findings = []
    voters = sorted(each.replica_id for each in quorum.current_voters)
    detail = f"{quorum.leader_id} leads, voters {listed(voters)}"
    silent = sorted(set(voters) & set(_silent_nodes(facts)))
    if silent:
        detail += f"; no answer from {listed(silent)}"
    if quorum.error_code or quorum.leader_id < 0:
        why = error_name(quorum.error_code) if quorum.error_code else "nobody leads them"
        detail = f"none: {why}"
        findings.append(found("KD2008", why=why, advice=_NO_MAJORITY))
    row = CheckRow(
        stage=CheckStage.METADATA,
        status=status_of(findings),
        target="controllers",
        took_ns=facts.took_ns.get("quorum"),
        detail=detail,
        facts={"leader_id": quorum.leader_id, "voters": voters},
    )
    return CheckPart(rows=[row], findings=findings)


class _CheckedPartition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: MetadataResponsePartition

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition.partition_index}]"

    @property
    def missing(self) -> set[int]:
        """Return the replicas that are not in sync."""
        return set(self.partition.replica_nodes) - set(self.partition.isr_nodes)

    @property
    def is_offline(self) -> bool:
        """Return whether nobody leads it."""
        return self.partition.leader_id < 0

    @property
    def is_out_of_balance(self) -> bool:
        """Return whether another broker leads it while the preferred one is in sync."""
        preferred = self.partition.replica_nodes[:1]
        return (
            not self.is_offline
            and preferred != [self.partition.leader_id]
            and set(preferred) <= set(self.partition.isr_nodes)
        )


def judge_partitions(facts: CheckFacts) -> CheckPart:
    """Return one row for all partitions, and the problems of partitions and brokers.

    If topics are asked for by name, only they count.
    """
    if facts.topics is None:
        why = facts.failures.get("topics", "not asked")
        return CheckPart(
            rows=[CheckRow(stage=CheckStage.PARTITIONS, status=CheckStatus.SKIPPED, detail=why)],
            warnings=[f"the topics are not known: {why}"],
            is_partial=True,
        )
    source = facts.topics if facts.wanted is None else facts.wanted
    topics = [each for each in source.topics if not each.error_code]
    placed = [_CheckedPartition(t.name or "", p) for t in topics for p in t.partitions]
    findings = [*_of_partitions(placed, facts), *_of_probes(facts)]
    row = CheckRow(
        stage=CheckStage.PARTITIONS,
        status=status_of(findings),
        took_ns=facts.took_ns.get("topics"),
        detail=_detail(placed, len(topics), sees_all=facts.unseen_topics is None),
        facts=_counts(placed, facts),
    )
    unlisted = [
        f"broker {node_id} was not searched for groups that kdiag may have left: {why}"
        for node_id, why in sorted(facts.unlisted.items())
    ]
    unseen = [] if facts.unseen_topics is None else [facts.unseen_topics]
    return CheckPart(
        rows=[row, *map(_tier_row, facts.tiers)],
        findings=[*_of_brokers(placed, facts), *findings],
        warnings=[*unseen, *unlisted],
    )


def _of_probes(facts: CheckFacts) -> Iterator[Finding]:
    """Find topics and groups that kdiag's probes have left, with the commands that remove them."""
    topics, groups = sorted(facts.probe_topics), sorted(facts.probe_groups)
    commands = [
        f"kdiag request DeleteGroups '{_json('groupsNames', [each])}' --to coordinator:{each} --yes"
        for each in groups
    ]
    if topics:
        form = _json("topicNames", topics)
        version = f"-V {_version_with_names(facts)}"
        commands.append(f"kdiag request DeleteTopics '{form}' {version} --to controller --yes")
    if commands:
        names = [*(f"topic {each}" for each in topics), *(f"group {each}" for each in groups)]
        yield found(
            "KD2009",
            count=len(names),
            names=listed(names, _SHOWN),
            commands=" and ".join(f"`{each}`" for each in commands),
        )


def _tier_row(tier: TopicTier) -> CheckRow:
    """Return how far back a topic is local, and what a read from remote storage took."""
    reads = [f"a read there {_read_text(tier.remote_read)}"]
    if tier.local_read is not None:
        reads.append(f"a local one {_read_text(tier.local_read)}")
    return CheckRow(
        stage=CheckStage.PARTITIONS,
        status=CheckStatus.OK if tier.remote_read.error is None else CheckStatus.INFO,
        target=f"topic {tier.topic}",
        detail=(
            f"{tier.remote_offsets:,} of {tier.offsets:,} offsets are in remote storage alone, in "
            f"{tier.remote_count} of {tier.partition_count} partitions; {', '.join(reads)}"
        ),
        facts=msgspec.to_builtins(tier),
    )


def _read_text(read: TierRead) -> str:
    took = f"{read.took_ms:,.1f} ms"
    return f"took {took}" if read.error is None else f"failed after {took} ({read.error})"


def _version_with_names(facts: CheckFacts) -> int:
    """Return the newest version of DeleteTopics that names topics, and that the brokers have."""
    offered = [
        each.max_version
        for endpoint in (*facts.servers, *facts.listeners)
        for visit in endpoint.visits
        if visit.versions is not None
        for each in visit.versions.api_keys
        if each.api_key == api_keys.DELETE_TOPICS
    ]
    return min([_LAST_WITH_NAMES, *offered])


def _json(field: str, names: Sequence[str]) -> str:
    return msgspec.json.encode({field: names}).decode()


def _of_partitions(placed: Sequence[_CheckedPartition], facts: CheckFacts) -> Iterator[Finding]:
    """Find problems of partitions; each partition counts for the worst only."""
    offline = [each for each in placed if each.is_offline]
    under_min = [each for each in placed if _is_under_min_isr(each, facts)]
    lagging = [each for each in placed if each.missing and not each.is_offline]
    if offline:
        holders = sorted({node for each in offline for node in _holders(each)})
        advice = last_copies_advice(holders, _alive(facts), failed_dirs(facts.log_dirs))
        candidates = _broker_names(holders)
        yield found("KD2001", **_named(offline), candidates=candidates, advice=advice)
    if under_min:
        named = {
            "count": len(under_min),
            "partitions": listed([_shortage(each, facts) for each in under_min], _SHOWN),
        }
        yield found("KD2002", **named, missing=_brokers(under_min))
    lagging = [each for each in lagging if each not in under_min]
    if lagging:
        yield found("KD2003", **_named(lagging), missing=_brokers(lagging))
    out_of_balance = [each for each in placed if each.is_out_of_balance]
    if out_of_balance:
        yield found("KD2004", **_named(out_of_balance))


def _of_brokers(placed: Sequence[_CheckedPartition], facts: CheckFacts) -> Iterator[Finding]:
    """Find brokers that are not alive, and living ones with replicas that are offline."""
    alive = _alive(facts)
    holders = {node for each in placed for node in each.partition.replica_nodes}
    fenced = {e.broker_id for e in facts.cluster.brokers if e.is_fenced} if facts.cluster else set()
    for node_id in sorted((holders | fenced) - alive):
        yield found("KD2007", node_id=node_id)
    lost = {
        node_id: _named(of_node)
        for node_id in sorted(alive)
        if (of_node := [e for e in placed if node_id in e.partition.offline_replicas])
    }
    known = failed_dirs(facts.log_dirs)
    for node_id, named in lost.items():
        if node_id not in known:
            yield found("KD2006", node_id=node_id, **named)
    yield from disk_findings(facts.log_dirs, lost)


def _alive(facts: CheckFacts) -> frozenset[int]:
    """Return the brokers that clients are referred to."""
    assert facts.metadata is not None
    return frozenset(each.node_id for each in facts.metadata.brokers)


def _shortage(placed: _CheckedPartition, facts: CheckFacts) -> str:
    """Return a partition with too few replicas in sync: `strict[0] (1 in sync, 2 required)`."""
    in_sync, least = len(placed.partition.isr_nodes), facts.min_isr[placed.topic]
    return f"{placed} ({in_sync} in sync, {least} required)"


def _is_under_min_isr(placed: _CheckedPartition, facts: CheckFacts) -> bool:
    """Return whether brokers refuse producers with acks=all, as far as the limit is known."""
    least = facts.min_isr.get(placed.topic, 0)
    return not placed.is_offline and len(placed.partition.isr_nodes) < least


def _holders(placed: _CheckedPartition) -> Sequence[int]:
    """Return the brokers that hold the last copies."""
    return placed.partition.isr_nodes or placed.partition.replica_nodes


def _brokers(placed: Iterable[_CheckedPartition]) -> str:
    return _broker_names(sorted({node for each in placed for node in each.missing}))


def _broker_names(nodes: Sequence[int]) -> str:
    return f"broker {nodes[0]}" if len(nodes) == 1 else f"brokers {listed(nodes)}"


def _named(placed: Sequence[_CheckedPartition]) -> dict[str, int | str]:
    return {"count": len(placed), "partitions": listed(placed, _SHOWN)}


def _detail(placed: Sequence[_CheckedPartition], topic_count: int, *, sees_all: bool) -> str:
    counts = (
        (sum(each.is_offline for each in placed), "without a leader"),
        (sum(bool(each.missing) for each in placed), "with replicas out of sync"),
    )
    wrong = [f"{count} {what}" for count, what in counts if count]
    if not placed:
        return "no topic that the user may see"
    topics = "1 topic" if topic_count == 1 else f"{topic_count} topics"
    partitions = "1 partition" if len(placed) == 1 else f"{len(placed)} partitions"
    state = ", ".join(wrong) or "all led and in sync"
    return f"{partitions} of {topics}{'' if sees_all else ' that you may see'}: {state}"


def _counts(placed: Sequence[_CheckedPartition], facts: CheckFacts) -> dict[str, int]:
    return {
        "partitions": len(placed),
        "offline": sum(each.is_offline for each in placed),
        "under_replicated": sum(bool(each.missing) for each in placed),
        "under_min_isr": sum(_is_under_min_isr(each, facts) for each in placed),
        "not_preferred": sum(each.is_out_of_balance for each in placed),
    }
