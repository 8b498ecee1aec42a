"""Records of classic groups become rebalances.

A coordinator writes the whole group (`GroupMetadata`) when a generation has its assignment, when it
is empty, and when a static member is replaced. Two of these beside each other tell who came, who is
gone and what moved; whether who is gone left or failed they do not tell. Looks at the group tell
also who is in it while it rebalances: who was there then, and neither before nor after, came and is
gone.
"""

from collections.abc import Mapping
from typing import Any

from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.rebalance.events import MEMBER_SEEN, GroupRecord
from kdiag.diagnosis.rebalance.model import (
    CauseKind,
    Confidence,
    GroupHistory,
    GroupMember,
    GroupType,
    Rebalance,
    RebalanceCause,
    less_sure,
    unseen_rebalances,
)
from kdiag.diagnosis.rebalance.moves import Assignments, moved_between
from kdiag.diagnosis.rebalance.records.record_words import RECORDS, RecordWords
from kdiag.exchange.embedded import read_assignment, read_subscription

_Members = Mapping[str, Any]


class RecordedClassicGroup:
    """One classic group; takes its records in the order of offsets.

    Attributes:
        history: its rebalances so far.
    """

    def __init__(self, group: str, words: RecordWords = RECORDS) -> None:
        """Begin with nothing.

        Args:
            group: its id.
            words: what is said of what the source does not tell.
        """
        self.history = GroupHistory(group=group, type=GroupType.CLASSIC, source=words.source)
        self._words = words
        self._last: Any = None
        self._is_deleted = False
        self._highest: dict[str, int] = {}
        self._seen: list[GroupRecord] = []

    def take(self, record: GroupRecord) -> None:
        """Take the next record."""
        if record.name == MEMBER_SEEN:
            self._seen.append(record)
            return
        if record.value is None:
            self._last, self._is_deleted = None, True
        else:
            self._take_group(record)
        self._seen.clear()

    def _take_group(self, record: GroupRecord) -> None:
        now, before = record.value, self._last
        if before is not None and now.generation < before.generation:
            before, self._is_deleted = None, True  # it was removed, and is there again
        self.history.protocol_type = now.protocol_type or self.history.protocol_type
        if now.generation and (before is None or now.generation > before.generation):
            self._add(record, before)  # a group begins as an empty generation 0
        self._note_members(record)
        self._last, self._is_deleted = now, False

    def _add(self, record: GroupRecord, before: Any) -> None:
        """Add the rebalance that made the generation of a record."""
        now = record.value
        is_known = before is not None or self._is_deleted or now.generation == 1
        unknown = _cause(record, CauseKind.UNKNOWN, note=self._words.oldest)
        causes = self._causes(record, before) if is_known else [unknown]
        previous = None if before is None else before.generation
        if previous is not None and now.generation > previous + 1:
            unseen = range(previous + 1, now.generation)
            self.history.rebalances += unseen_rebalances(unseen, record.at_ns, self._words.skipped)
            causes = [less_sure(cause, self._words.skipped) for cause in causes]
        rebalance = Rebalance(
            generation=now.generation,
            previous=previous,
            causes=causes,
            ended_ns=record.at_ns,
            phases={},
            member_count=len(now.members),
            is_told=self._words.tells_generations,
        )
        shares = _shares(now)
        if before is not None and shares is not None:
            former = _shares(before)
            rebalance.moved = None if former is None else moved_between(former, shares)
        self._note_partitions(shares or {})
        self.history.rebalances.append(rebalance)

    def _causes(self, record: GroupRecord, before: Any) -> list[RebalanceCause]:
        now = record.value
        former: _Members = (
            {} if before is None else {each.member_id: each for each in before.members}
        )
        present: _Members = {each.member_id: each for each in now.members}
        returned = {each.group_instance_id for each in now.members} - {None}
        gone = [
            each
            for each in former.values()
            if each.member_id not in present and each.group_instance_id not in returned
        ]
        causes = [_cause(record, CauseKind.UNKNOWN, each, self._words.gone) for each in gone]
        for each in now.members:
            if each.member_id not in former:
                causes.append(_coming(record, each, former, gone))
            elif _topics(each) != _topics(former[each.member_id]):
                causes.append(_cause(record, CauseKind.SUBSCRIPTION_CHANGED, each))
        for seen in self._seen:
            is_there = seen.member_id in present or seen.value.group_instance_id in returned
            if not is_there:
                causes.append(_coming(seen, seen.value, former, gone))
                causes.append(_cause(seen, CauseKind.UNKNOWN, seen.value, self._words.gone))
        if not now.members:
            causes.append(_cause(record, CauseKind.GROUP_EMPTIED))
        if not causes:
            causes.append(self._why_again(record, before))
        return causes

    def _why_again(self, record: GroupRecord, before: Any) -> RebalanceCause:
        """Return why the same members rebalanced."""
        if before is not None and before.protocol != record.value.protocol:
            note = f"{before.protocol} before, {record.value.protocol} now"
            return _cause(record, CauseKind.ASSIGNOR_CHANGED, note=note)
        for topic, number in sorted(
            p for each in (_shares(record.value) or {}).values() for p in each
        ):
            highest = self._highest.get(topic)
            if highest is not None and number > highest:
                note = f"partition {number} of {topic} was not assigned before"
                return less_sure(_cause(record, CauseKind.PARTITIONS_CHANGED, note=note), note)
        note = "the members and what they want are those of before"
        return less_sure(_cause(record, CauseKind.MEMBER_REJOINED, note=note), note)

    def _note_partitions(self, shares: Assignments) -> None:
        for share in shares.values():
            for topic, number in share:
                self._highest[topic] = max(number, self._highest.get(topic, 0))

    def _note_members(self, record: GroupRecord) -> None:
        for each in record.value.members:
            known = self.history.members.get(each.member_id)
            if known is None:
                known = self.history.members[each.member_id] = GroupMember(
                    member_id=each.member_id,
                    instance_id=each.group_instance_id,
                    client_id=each.client_id,
                    client_host=host_of(each.client_host),
                    first_ns=record.at_ns,
                    last_ns=record.at_ns,
                    session_timeout_ns=each.session_timeout * NS_PER_MS,
                )
            known.last_ns = record.at_ns
            if record.value.generation not in known.generations[-1:]:
                known.generations.append(record.value.generation)


def host_of(text: str) -> str:
    """Return a client's address without the slash that Java puts before it."""
    return text.rpartition("/")[2]


def _coming(record: GroupRecord, member: Any, former: _Members, gone: list[Any]) -> RebalanceCause:
    """Return how a member came: new, back under another id, or in the place of one that is gone."""
    instance = member.group_instance_id
    if instance is not None and any(each.group_instance_id == instance for each in former.values()):
        return _cause(record, CauseKind.STATIC_MEMBER_RETURNED, member)
    place = (member.client_id, member.client_host)
    same = [each for each in gone if (each.client_id, each.client_host) == place]
    if same and instance is None:
        note = f"{same[0].member_id} had its client id and host, and is gone"
        return less_sure(_cause(record, CauseKind.MEMBER_RESTARTED, member, note), note)
    return _cause(record, CauseKind.MEMBER_JOINED, member)


def _cause(
    record: GroupRecord, kind: CauseKind, member: Any = None, note: str | None = None
) -> RebalanceCause:
    is_unknown = kind is CauseKind.UNKNOWN
    return RebalanceCause(
        cause=kind,
        confidence=Confidence.UNKNOWN if is_unknown else Confidence.CERTAIN,
        at_ns=record.at_ns,
        member_id=None if member is None else member.member_id,
        instance_id=None if member is None else member.group_instance_id,
        client_id=None if member is None else member.client_id,
        client_host=None if member is None else host_of(member.client_host),
        note=note,
        evidence=(record.evidence,),
    )


def _topics(member: Any) -> frozenset[str] | None:
    """Return the topics of a member's subscription; None if that is no consumer's."""
    found = read_subscription(member.subscription)
    return None if found is None else frozenset(found.message.topics)


def _shares(value: Any) -> dict[str, frozenset[tuple[str, int]]] | None:
    """Return the partitions of each member; None if those are no consumers."""
    shares = {}
    for member in value.members:
        found = read_assignment(member.assignment) if member.assignment else None
        if found is None and member.assignment:
            return None
        topics = found.message.assigned_partitions if found is not None else ()
        shares[member.member_id] = frozenset(
            (each.topic, number) for each in topics for number in each.partitions
        )
    return shares
