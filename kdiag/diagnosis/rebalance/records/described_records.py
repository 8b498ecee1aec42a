"""Descriptions of groups, look after look, become the records of what changed between them.

    look 1    orders: Stable, m1                 GroupMetadata 1  m1
    look 2    orders: PreparingRebalance, m1, m2 GroupMember      m2   (nothing is settled yet)
    look 3    orders: Stable, m1, m2             GroupMetadata 2  m1, m2

A coordinator describes its groups to whoever may see them, also where `__consumer_offsets` may not
be read. Of a classic group it does not tell the generation, so generations are counted from the
first look on; what came and went between two looks is not seen.

Source: Kafka's DescribeGroups, ConsumerGroupDescribe, ShareGroupDescribe, StreamsGroupDescribe.
"""

from collections.abc import Iterator
from typing import Any, Final

from kdiag.diagnosis.rebalance.events import MEMBER_SEEN, GroupRecord
from kdiag.diagnosis.rebalance.model import EvidencePlace, GroupType
from kdiag.wire.internal.consumer_group_metadata import ConsumerGroupMetadataValue
from kdiag.wire.internal.group_metadata import GroupMetadataValue, MemberMetadata
from kdiag.wire.primitives import uuid_text

_UNDER_WAY: Final = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning"})
_DEAD: Final = "Dead"
_FIRST_UNKNOWN: Final = 2
"""The generation that a group gets that was there before the first look: 1 is that of a new one."""

_PREFIXES: Final = {
    GroupType.CONSUMER: "ConsumerGroup",
    GroupType.SHARE: "ShareGroup",
    GroupType.STREAMS: "StreamsGroup",
}
Key = tuple[str, GroupType]


class DescribedGroups:
    """The groups that were looked at."""

    def __init__(self) -> None:
        """Begin with none."""
        self._groups: dict[Key, _Classic | _Epochs] = {}
        self._names: dict[str, str] = {}
        self._under_way: set[Key] = set()

    @property
    def is_any_under_way(self) -> bool:
        """Return whether a group was about to rebalance when it was last looked at."""
        return bool(self._under_way)

    def topic_name(self, topic_id: str) -> str | None:
        """Return the name of a topic by its id, in Kafka's text form; None if none was told."""
        return self._names.get(topic_id)

    def look(
        self, key: Key, group: Any, at_ns: int, place: EvidencePlace, *, is_new: bool
    ) -> list[GroupRecord]:
        """Return the records of what changed in a group.

        Args:
            key: its id and its kind.
            group: how its coordinator describes it, the element of a response; None if it is gone.
            at_ns: when, since 1970.
            place: names the look.
            is_new: whether the group was not there at the look before.
        """
        known = self._groups.get(key)
        if group is None or group.group_state == _DEAD:
            self._under_way.discard(key)
            return [] if self._groups.pop(key, None) is None else [_end_of(key, at_ns, place)]
        if group.group_state in _UNDER_WAY:
            self._under_way.add(key)
        else:
            self._under_way.discard(key)
        if known is None:
            known = _Classic(is_new=is_new) if key[1] is GroupType.CLASSIC else _Epochs(key[1])
            self._groups[key] = known
        self._learn_names(group)
        changes = list(known.changes(group))
        return [
            GroupRecord(at_ns, key[0], place, name, member_id, value)
            for name, member_id, value in changes
        ]

    def _learn_names(self, group: Any) -> None:
        for member in group.members:
            for part in ("assignment", "target_assignment"):
                given = getattr(member, part, None)
                for each in getattr(given, "topic_partitions", None) or ():
                    self._names[uuid_text(each.topic_id)] = each.topic_name


_Change = tuple[str, str, Any]
"""The name of a record, the member of its key, and its value."""


def _end_of(key: Key, at_ns: int, place: EvidencePlace) -> GroupRecord:
    name = "GroupMetadata" if key[1] is GroupType.CLASSIC else f"{_PREFIXES[key[1]]}Metadata"
    return GroupRecord(at_ns, key[0], place, name, "", None)


class _Classic:
    """A classic group: its members are told as a whole once they have their assignment."""

    def __init__(self, *, is_new: bool) -> None:
        self._generation = 0 if is_new else _FIRST_UNKNOWN - 1
        self._last: Any = None
        self._is_under_way = False
        self._seen: set[str] = set()

    def changes(self, group: Any) -> Iterator[_Change]:
        """Yield the group if it is settled, and another than before; else who is new in it."""
        members = sorted(map(_member, group.members), key=lambda each: each.member_id)
        if group.group_state in _UNDER_WAY:
            self._is_under_way = True
            for each in members:
                if each.member_id not in self._seen:
                    self._seen.add(each.member_id)
                    yield MEMBER_SEEN, each.member_id, each
            return
        self._seen = {each.member_id for each in members}
        now = GroupMetadataValue(group.protocol_type, 0, group.protocol_data, members=members)
        if now == self._last and not self._is_under_way:
            return
        is_unused = not members and not self._generation and not self._is_under_way
        self._last, self._is_under_way = now, False
        self._generation += not is_unused
        told = GroupMetadataValue(
            group.protocol_type, self._generation, group.protocol_data, members=members
        )
        yield "GroupMetadata", "", told


def _member(member: Any) -> MemberMetadata:
    return MemberMetadata(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscription=member.member_metadata,
        assignment=member.member_assignment,
    )


class _Epochs:
    """A group whose coordinator assigns: its epoch, its members and what each has are told."""

    def __init__(self, kind: GroupType) -> None:
        self._prefix = _PREFIXES[kind]
        self._members: dict[str, Any] = {}
        self._epoch: int | None = None
        self._assignment_epoch: int | None = None

    def changes(self, group: Any) -> Iterator[_Change]:
        """Yield what changed, in the order in which a coordinator would write it."""
        before, now = self._members, {each.member_id: each for each in group.members}
        for member_id in before.keys() - now.keys():
            yield f"{self._prefix}MemberMetadata", member_id, None
            yield f"{self._prefix}TargetAssignmentMember", member_id, None
        for member_id, each in now.items():
            if member_id not in before or _wishes(before[member_id]) != _wishes(each):
                yield f"{self._prefix}MemberMetadata", member_id, each
        if group.group_epoch != self._epoch:
            value = ConsumerGroupMetadataValue(epoch=group.group_epoch)
            yield f"{self._prefix}Metadata", "", value
        for member_id, each in now.items():
            if member_id not in before or _target(before[member_id]) != _target(each):
                yield f"{self._prefix}TargetAssignmentMember", member_id, _target(each)
        if group.assignment_epoch != self._assignment_epoch:
            yield f"{self._prefix}TargetAssignmentMetadata", "", group
        for member_id, each in now.items():
            if member_id not in before or before[member_id].member_epoch != each.member_epoch:
                yield f"{self._prefix}CurrentMemberAssignment", member_id, each
        self._members = now
        self._epoch, self._assignment_epoch = group.group_epoch, group.assignment_epoch


def _wishes(member: Any) -> tuple[object, ...]:
    topics = getattr(member, "subscribed_topic_names", None) or ()
    return frozenset(topics), getattr(member, "subscribed_topic_regex", None) or None


def _target(member: Any) -> Any:
    """Return what a member is to have; of a share group what it has."""
    return getattr(member, "target_assignment", None) or member.assignment
