"""Owned partitions: what members of a group had before, as far as it is to be believed.

Members say which partitions they own, and in which generation they were assigned. Of two that claim
the same partition, the one with the later generation has it; in the same generation neither has.

Source: `AbstractStickyAssignor.allSubscriptionsEqual`; KIP-792 (generations in subscriptions).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import (
    NO_GENERATION,
    MemberSubscription,
    PartitionRacks,
)


class MemberData(NamedTuple):
    """What a member says of its past.

    Attributes:
        partitions: that it owned, or still owns.
        generation: in which it was assigned them; None if it does not tell.
    """

    partitions: Sequence[PartitionKey]
    generation: int | None


class OwnedPartitions:
    """The partitions that the members of a group own.

    Attributes:
        by_member: of each member, in its own order.
        disputed: partitions that several members claimed for the same generation.
        max_generation: the latest of which any member told.
    """

    def __init__(self, members: Mapping[str, MemberSubscription], max_generation: int) -> None:
        """Begin without any.

        Args:
            members: of the group.
            max_generation: the latest that was told in earlier assignments.
        """
        self.by_member: dict[str, dict[PartitionKey, None]] = {}
        self.disputed: set[PartitionKey] = set()
        self.max_generation = max_generation
        self._members = members
        self._owners: dict[PartitionKey, str] = {}

    def add(self, member_id: str, data: MemberData, partition_racks: PartitionRacks) -> None:
        """Add what a member says, except for partitions that do not exist any more.

        Java keeps the latter if their topic exists, and may then assign partitions twice.
        """
        generation = NO_GENERATION if data.generation is None else data.generation
        self.max_generation = max(self.max_generation, generation)
        self.by_member[member_id] = {}
        for key in data.partitions:
            if 0 <= key.partition < len(partition_racks.get(key.topic, ())):
                self._claim(member_id, key, generation)

    def _claim(self, member_id: str, key: PartitionKey, generation: int) -> None:
        """Decide whether a member owns a partition."""
        other = self._owners.get(key)
        if other is not None:
            # As in Java, this is what the other's subscription says, and not its user data.
            other_generation = max(self._members[other].generation, NO_GENERATION)
            if generation < other_generation:
                return
            self.by_member[other].pop(key, None)
            if generation == other_generation:
                self.disputed.add(key)
                self._owners[key] = member_id
                return
        self._owners[key] = member_id
        self.by_member[member_id][key] = None


def are_subscriptions_equal(members: Sequence[MemberSubscription]) -> bool:
    """Return whether all members subscribe to the same topics.

    Members without topics in front of all others do not count: Java takes the first topics that it
    finds for those of all.
    """
    expected: frozenset[str] = frozenset()
    for each in members:
        if not expected:
            expected = frozenset(each.topics)
        elif frozenset(each.topics) != expected:
            return False
    return True
