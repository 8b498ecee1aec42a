"""Cooperative-sticky: as sticky, for members that keep their partitions while they rejoin.

A partition that goes from one member to another is left out of the assignment of both: the first
gives it up and rejoins, and only then, in a second rebalance, the other is assigned it.

Members say which partitions they own in their subscription, in which generation there too, from
version 2 on; user data has the generation for older leaders, as an int32.

Source: Kafka's `CooperativeStickyAssignor`; KIP-429, KIP-792.
"""

from collections.abc import Iterable, Mapping, Sequence
from struct import Struct as Layout
from typing import Final

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import (
    NO_GENERATION,
    Assignments,
    MemberSubscription,
    PartitionRacks,
    RebalanceProtocol,
)
from kdiag.client.group.assignor.owned_partitions import MemberData
from kdiag.client.group.assignor.sticky_division import StickyDivision

_INT32: Final = Layout(">i")


class CooperativeStickyAssignor:
    """Assigns evenly, what members keep and what nobody owns."""

    name = "cooperative-sticky"
    protocols = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)

    def __init__(self) -> None:
        self._division = StickyDivision(_member_data)
        self._generation = NO_GENERATION

    def subscription_user_data(self, topics: Iterable[str]) -> bytes:  # noqa: ARG002 - an Assignor's
        """Return the generation of its own member's assignment."""
        return _INT32.pack(self._generation)

    def on_assignment(self, assignment: Sequence[PartitionKey], generation: int) -> None:  # noqa: ARG002 - as above
        """Remember the generation of its own member's assignment."""
        self._generation = generation

    def assign(
        self, partition_racks: PartitionRacks, members: Mapping[str, MemberSubscription]
    ) -> Assignments:
        """Return the partitions of every member, without those that others must give up first."""
        assignments, transferred = self._division.divide(partition_racks, members)
        if transferred is None:
            transferred = _transferred(assignments, members)
        for member_id, partitions in assignments.items():
            partitions[:] = [key for key in partitions if transferred.get(key) != member_id]
        return assignments


def _member_data(subscription: MemberSubscription) -> MemberData:
    """Return what a member owns, and since which generation."""
    owned = subscription.owned_partitions
    if subscription.generation >= 0:
        return MemberData(owned, subscription.generation)
    if subscription.user_data is None:
        return MemberData(owned, None)
    if len(subscription.user_data) < _INT32.size:
        return MemberData(owned, NO_GENERATION)
    return MemberData(owned, _INT32.unpack_from(subscription.user_data)[0])


def _transferred(
    assignments: Assignments, members: Mapping[str, MemberSubscription]
) -> dict[PartitionKey, str]:
    """Return the partitions that a member gives up and another is assigned, with the latter."""
    added = {}
    revoked = set()
    for member_id, partitions in assignments.items():
        owned = set(members[member_id].owned_partitions)
        added.update({key: member_id for key in partitions if key not in owned})
        revoked.update(owned.difference(partitions))
    return {key: member_id for key, member_id in added.items() if key in revoked}
