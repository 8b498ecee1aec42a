"""Records of consumer, share and streams groups become rebalances.

A coordinator writes each thing that changes a group together with the epoch that this makes, in one
batch, so that the records of one moment belong together:

    ConsumerGroupMemberMetadata m2                who came, or wants something else
    ConsumerGroupMetadata epoch 5                 the epoch
    ConsumerGroupTargetAssignmentMember m1, m2    what each is to have
    ConsumerGroupTargetAssignmentMetadata 5       that was all of it
    ConsumerGroupCurrentMemberAssignment m2       who has taken it up

Source: Kafka's GroupMetadataManager, GroupCoordinatorRecordHelpers (KIP-848, KIP-932, KIP-1071).
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from kdiag.diagnosis.rebalance.events import GroupRecord
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
from kdiag.diagnosis.rebalance.moves import moved_between
from kdiag.diagnosis.rebalance.records.classic_records import host_of
from kdiag.diagnosis.rebalance.records.record_words import RECORDS, RecordWords
from kdiag.wire.primitives import uuid_text

_FIRST_EPOCHS: Final = 2
_EARLIER: Final = "it was written before the epoch, so it may not be its cause"
Shares = dict[str, frozenset[tuple[str, int]]]


class RecordedEpochGroup:
    """One consumer, share or streams group; takes its records in the order of offsets.

    Attributes:
        history: its rebalances so far.
    """

    def __init__(
        self,
        group: str,
        kind: GroupType,
        topic_name: Callable[[str], str | None],
        words: RecordWords = RECORDS,
    ) -> None:
        """Begin with nothing.

        Args:
            group: its id.
            kind: which of the three it is.
            topic_name: returns the name of a topic id, in Kafka's text form.
            words: what is said of what the source does not tell.
        """
        self.history = GroupHistory(group=group, type=kind, source=words.source)
        self._words = words
        self._topic_name = topic_name
        self._epoch: int | None = None
        self._hash: int | None = None
        self._wants: dict[str, Any] = {}
        self._waiting: list[RebalanceCause] = []
        self._counts: dict[str, int] = {}
        self._target: Shares = {}
        self._former: Shares = {}
        self._taken_up: set[str] = set()

    def take(self, record: GroupRecord) -> None:
        """Take the next record."""
        taker = _TAKERS.get(record.name.partition("Group")[2])
        if taker is not None:
            taker(self, record)

    def _member(self, record: GroupRecord) -> None:
        before, now = self._wants.get(record.member_id), record.value
        if now is None:
            if before is not None:
                self._wait(record, CauseKind.UNKNOWN, before, self._words.gone)
                del self._wants[record.member_id]
            return
        self._wants[record.member_id] = now
        self._note_member(record)
        if before is None:
            self._came(record)
        elif _topics(before) != _topics(now):
            self._wait(record, CauseKind.SUBSCRIPTION_CHANGED, now)
        elif _get(before, "server_assignor") != _get(now, "server_assignor"):
            self._wait(record, CauseKind.ASSIGNOR_CHANGED, now)

    def _came(self, record: GroupRecord) -> None:
        """Note a new member, or a static one that comes back under another id."""
        instance = _get(record.value, "instance_id")
        kind = CauseKind.MEMBER_JOINED
        if instance:
            left = [each for each in self._waiting if each.instance_id == instance]
            holders = [
                member_id
                for member_id, wants in self._wants.items()
                if _get(wants, "instance_id") == instance and member_id != record.member_id
            ]
            if left or holders:
                kind = CauseKind.STATIC_MEMBER_RETURNED
            self._waiting = [each for each in self._waiting if each not in left]
            for member_id in holders:
                del self._wants[member_id]
        self._wait(record, kind, record.value)

    def _partitions(self, record: GroupRecord) -> None:
        """Compare the numbers of partitions, which coordinators wrote up to Kafka 4.0."""
        topics = record.value.topics if record.value is not None else ()
        for each in topics:
            before = self._counts.get(each.topic_name)
            self._counts[each.topic_name] = each.num_partitions
            if before is not None and before != each.num_partitions:
                note = f"{each.topic_name} has {each.num_partitions} partitions, before {before}"
                self._wait(record, CauseKind.PARTITIONS_CHANGED, None, note)

    def _topology(self, record: GroupRecord) -> None:
        if record.value is not None and self._epoch is not None:
            note = "the topology of the application changed"
            self._wait(record, CauseKind.SUBSCRIPTION_CHANGED, None, note)

    def _epoch_made(self, record: GroupRecord) -> None:
        """Add the rebalance that made an epoch."""
        if record.value is None:
            self._forget()
            return
        epoch, metadata_hash = record.value.epoch, _get(record.value, "metadata_hash")
        if self._epoch is not None and epoch < self._epoch:
            self._epoch = None  # it was removed, and is there again
        causes = [*self._causes(record, is_other_hash=metadata_hash != self._hash)]
        previous, self._epoch, self._hash = self._epoch, epoch, metadata_hash
        self._waiting = []
        if previous == epoch:
            return
        if previous is not None and epoch > previous + 1:
            unseen = range(previous + 1, epoch)
            self.history.rebalances += unseen_rebalances(unseen, record.at_ns, self._words.skipped)
        self._former, self._taken_up = dict(self._target), set()
        rebalance = Rebalance(
            generation=epoch,
            previous=previous,
            causes=causes,
            started_ns=record.at_ns,
            phases={},
            member_count=len(self._wants),
        )
        self.history.rebalances.append(rebalance)

    def _causes(self, record: GroupRecord, *, is_other_hash: bool) -> Iterator[RebalanceCause]:
        """Yield the causes of the epoch of a record: those of its moment, else earlier ones.

        A static member that comes back as it was makes no epoch, so it is not the cause of a later
        one.
        """
        own = [each for each in self._waiting if each.at_ns == record.at_ns]
        earlier = [
            less_sure(each, _EARLIER)
            for each in self._waiting
            if each.cause is not CauseKind.STATIC_MEMBER_RETURNED
        ]
        if own or earlier:
            yield from own or earlier
        elif self._epoch is None and record.value.epoch > _FIRST_EPOCHS:
            yield self._cause(record, CauseKind.UNKNOWN, None, self._words.oldest)
        elif self._epoch is not None and is_other_hash:
            note = "the coordinator computed another hash of the topics' metadata"
            cause = self._cause(record, CauseKind.PARTITIONS_CHANGED, None, note)
            yield less_sure(cause, note)
        else:
            yield self._cause(record, CauseKind.UNKNOWN, None, self._words.untold)

    def _target_of(self, record: GroupRecord) -> None:
        if record.value is None:
            self._target.pop(record.member_id, None)
        else:
            self._target[record.member_id] = self._share(record.value)

    def _target_made(self, record: GroupRecord) -> None:
        """The target assignment of an epoch is whole."""
        rebalance = self._rebalance(record.value.assignment_epoch) if record.value else None
        if rebalance is not None and rebalance.previous is not None:
            rebalance.moved = moved_between(self._former, self._target)

    def _current(self, record: GroupRecord) -> None:
        """A member has taken up an epoch."""
        if record.value is None or record.value.member_epoch < 0:
            return
        epoch = record.value.member_epoch
        info = self.history.members.get(record.member_id)
        if info is not None:
            info.last_ns = max(info.last_ns, record.at_ns)
            if epoch not in info.generations[-1:]:
                info.generations.append(epoch)
        rebalance = self._rebalance(epoch)
        if rebalance is not None and epoch == self._epoch:
            self._taken_up.add(record.member_id)
            if self._taken_up >= self._wants.keys():
                rebalance.ended_ns = record.at_ns

    def _rebalance(self, epoch: int) -> Rebalance | None:
        last = self.history.rebalances[-1:]
        return last[0] if last and last[0].generation == epoch else None

    def _share(self, value: Any) -> frozenset[tuple[str, int]]:
        """Return the partitions of an assignment; of streams groups the active tasks."""
        if self.history.type is GroupType.STREAMS:
            named = [(each.subtopology_id, each.partitions) for each in value.active_tasks]
        else:
            ids = [(uuid_text(each.topic_id), each.partitions) for each in value.topic_partitions]
            named = [(self._topic_name(topic) or topic, numbers) for topic, numbers in ids]
        return frozenset((topic, number) for topic, numbers in named for number in numbers)

    def _note_member(self, record: GroupRecord) -> None:
        value = record.value
        known = self.history.members.get(record.member_id)
        if known is None:
            known = self.history.members[record.member_id] = GroupMember(
                member_id=record.member_id,
                instance_id=_get(value, "instance_id"),
                client_id=value.client_id,
                client_host=host_of(value.client_host),
                first_ns=record.at_ns,
                last_ns=record.at_ns,
            )
        known.last_ns = record.at_ns

    def _forget(self) -> None:
        """The group was removed."""
        self._epoch = self._hash = None
        self._wants, self._waiting, self._target = {}, [], {}

    def _wait(
        self, record: GroupRecord, kind: CauseKind, member: Any, note: str | None = None
    ) -> None:
        self._waiting.append(self._cause(record, kind, member, note))

    def _cause(
        self, record: GroupRecord, kind: CauseKind, member: Any, note: str | None
    ) -> RebalanceCause:
        is_unknown = kind is CauseKind.UNKNOWN
        return RebalanceCause(
            cause=kind,
            confidence=Confidence.UNKNOWN if is_unknown else Confidence.CERTAIN,
            at_ns=record.at_ns,
            member_id=None if member is None else record.member_id,
            instance_id=_get(member, "instance_id"),
            client_id=_get(member, "client_id"),
            client_host=None if member is None else host_of(member.client_host),
            note=note,
            evidence=(record.evidence,),
        )


_Taker = Callable[[RecordedEpochGroup, GroupRecord], None]
_TAKERS: Final[dict[str, _Taker]] = {
    "MemberMetadata": RecordedEpochGroup._member,  # noqa: SLF001 - a table of its own methods
    "PartitionMetadata": RecordedEpochGroup._partitions,  # noqa: SLF001 - as above
    "Topology": RecordedEpochGroup._topology,  # noqa: SLF001 - as above
    "Metadata": RecordedEpochGroup._epoch_made,  # noqa: SLF001 - as above
    "TargetAssignmentMember": RecordedEpochGroup._target_of,  # noqa: SLF001 - as above
    "TargetAssignmentMetadata": RecordedEpochGroup._target_made,  # noqa: SLF001 - as above
    "CurrentMemberAssignment": RecordedEpochGroup._current,  # noqa: SLF001 - as above
}


def _get(message: Any, name: str) -> Any:
    """Return a field that only some kinds of groups have; None for those without, and if empty."""
    return getattr(message, name, None) or None


def _topics(wants: Any) -> tuple[frozenset[str], str | None]:
    topics = frozenset(_get(wants, "subscribed_topic_names") or ())
    return topics, _get(wants, "subscribed_topic_regex")
