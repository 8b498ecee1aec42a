"""Tells a story of a group as coordinators describe it at looks that follow each other."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from group_stories.record_story import TOPIC_ID
from group_stories.story import S, client_of
from kdiag.diagnosis.rebalance.histories import RecordedGroups
from kdiag.diagnosis.rebalance.model import EvidencePlace, GroupHistory, GroupType
from kdiag.diagnosis.rebalance.records.described_records import DescribedGroups
from kdiag.diagnosis.rebalance.records.record_words import DESCRIPTIONS
from kdiag.wire.api.consumer_group_describe import Assignment, Member, TopicPartitions
from kdiag.wire.api.consumer_group_describe import DescribedGroup as NewGroup
from kdiag.wire.api.describe_groups import DescribedGroup, DescribedGroupMember
from scripted_kafka.group_cluster import assignment, subscription

if TYPE_CHECKING:
    from kdiag.diagnosis.rebalance.events import GroupRecord

GROUP = "orders"
Owned = Mapping[str, Sequence[int]]


class LookStory:
    """Collects the records that looks at one group become, a second apart.

    Attributes:
        records: so far.
        groups: what was looked at.
    """

    def __init__(self, *, is_new: bool = False) -> None:
        self.records: list[GroupRecord] = []
        self.groups = DescribedGroups()
        self._is_new = is_new
        self._number = 0

    @property
    def history(self) -> GroupHistory:
        """Return the history of the group."""
        recorded = RecordedGroups(self.groups.topic_name, DESCRIPTIONS)
        for record in self.records:
            recorded.take(record)
        (history,) = recorded.histories
        return history

    def classic(self, owned: Owned, *, state: str = "Stable", **changes: Any) -> None:
        """A look at a classic group; changes are of the group, or of all its members."""
        self.look(GroupType.CLASSIC, classic_group(owned, state, **changes))

    def consumer(self, epoch: int, owned: Owned, **changes: Any) -> None:
        """A look at a consumer group all of whose members have taken up the epoch."""
        self.look(GroupType.CONSUMER, consumer_group(epoch, owned, **changes))

    def look(self, kind: GroupType, group: Any) -> None:
        """Look at a group; None where it is gone."""
        self._number += 1
        place = EvidencePlace("look", None, self._number)
        key = (GROUP, kind)
        self.records += self.groups.look(
            key, group, self._number * S, place, is_new=self._is_new and self._number == 1
        )


def classic_group(
    owned: Owned, state: str = "Stable", *, protocol: str = "range", **changes: Any
) -> DescribedGroup:
    """Return a classic group."""
    topic = changes.pop("topic", "clicks")
    members = [
        msgspec.structs.replace(
            DescribedGroupMember(
                member_id=name,
                client_id=client_of(name).client_id or "",
                client_host=f"/{client_of(name).host}",
                member_metadata=subscription(topic),
                member_assignment=assignment("clicks", numbers),
            ),
            **changes,
        )
        for name, numbers in owned.items()
    ]
    return DescribedGroup(
        group_id=GROUP,
        group_state=state,
        protocol_type="consumer",
        protocol_data=protocol,
        members=members,
    )


def consumer_group(epoch: int, owned: Owned, **changes: Any) -> NewGroup:
    """Return a consumer group."""
    members = []
    for name, numbers in owned.items():
        given = Assignment([TopicPartitions(TOPIC_ID, "clicks", list(numbers))])
        member = Member(
            member_id=name,
            client_id=client_of(name).client_id or "",
            client_host=f"/{client_of(name).host}",
            member_epoch=epoch,
            subscribed_topic_names=["clicks"],
            assignment=given,
            target_assignment=given,
        )
        members.append(msgspec.structs.replace(member, **changes))
    return NewGroup(
        group_id=GROUP,
        group_state="Stable",
        group_epoch=epoch,
        assignment_epoch=epoch,
        members=members,
    )
