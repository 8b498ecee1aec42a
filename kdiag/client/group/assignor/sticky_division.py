"""Sticky assignments: even ones, in which members keep as much as they can of what they had.

There are two algorithms: one for members that all have the same topics, which is exact and fast,
and one for all others, which moves partition after partition.

Source: Kafka's `AbstractStickyAssignor`; KIP-54.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import (
    NO_GENERATION,
    Assignments,
    MemberSubscription,
    PartitionRacks,
)
from kdiag.client.group.assignor.constrained import ConstrainedAssignment
from kdiag.client.group.assignor.general import GeneralAssignment, previous_owners
from kdiag.client.group.assignor.hash_order import hash_order
from kdiag.client.group.assignor.owned_partitions import (
    MemberData,
    OwnedPartitions,
    are_subscriptions_equal,
)
from kdiag.client.group.assignor.rack_info import RackInfo


class StickyResult(NamedTuple):
    """A sticky assignment.

    Attributes:
        assignments: the partitions of each member.
        transferred: partitions that go from one member to another, with the latter; None if that
            is not known.
    """

    assignments: Assignments
    transferred: dict[PartitionKey, str] | None


class StickyDivision:
    """Divides partitions among members, again and again for the same leader."""

    def __init__(self, member_data: Callable[[MemberSubscription], MemberData]) -> None:
        """Begin without having seen any generation.

        Args:
            member_data: reads what a member says of its past.
        """
        self._member_data = member_data
        self._max_generation = NO_GENERATION

    def divide(
        self, partition_racks: PartitionRacks, members: Mapping[str, MemberSubscription]
    ) -> StickyResult:
        """Return the partitions of every member."""
        members = {member_id: members[member_id] for member_id in hash_order(members)}
        wanted = {topic for each in members.values() for topic in each.topics}
        racks = {topic: each for topic, each in partition_racks.items() if topic in wanted and each}
        past = {member_id: self._member_data(each) for member_id, each in members.items()}
        owned = OwnedPartitions(members, self._max_generation)
        for member_id, data in past.items():
            owned.add(member_id, data, racks)
        self._max_generation = owned.max_generation
        rack_info = RackInfo(racks, members)
        if are_subscriptions_equal([*members.values()]):
            constrained = ConstrainedAssignment(racks, rack_info, owned)
            return StickyResult(constrained.build(), constrained.transferred)
        previous = previous_owners(past, owned.max_generation)
        return StickyResult(
            GeneralAssignment(racks, rack_info, owned, members).build(previous), None
        )
