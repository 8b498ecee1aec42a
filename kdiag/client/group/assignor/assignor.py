"""Assignors: how the leader of a classic group divides partitions among its members.

    partition_racks = {"orders": [frozenset({"a"}), frozenset({"b"})]}     # orders[0], orders[1]
    members = {"m1": MemberSubscription(("orders",)), "m2": ...}
    RangeAssignor().assign(partition_racks, members)      # {"m1": [orders[0]], "m2": [orders[1]]}

Every member says in JoinGroup which assignors it knows, each with a subscription and the
assignor's own user data; the coordinator picks one that all know, and the leader runs it.

Source: Kafka's `ConsumerPartitionAssignor`, `AbstractPartitionAssignor`; KIP-881 (racks).
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.hash_order import java_units
from kdiag.client.network.metadata import Cluster

NO_GENERATION = -1


class RebalanceProtocol(Enum):
    """What members do with their partitions before they rejoin (KIP-429)."""

    EAGER = 0
    """They give up all of them."""
    COOPERATIVE = 1
    """They keep them, and give up afterwards those that others shall have."""


class MemberSubscription(NamedTuple):
    """What a member says of itself when it joins.

    Attributes:
        topics: that it subscribes to.
        user_data: the assignor's own, of this member; None without.
        owned_partitions: that it has not given up.
        generation: in which it owned them; negative if it does not tell.
        rack: `client.rack`; None without.
        group_instance_id: of a static member; JoinGroup has it, the subscription's bytes do not.
    """

    topics: Sequence[str]
    user_data: bytes | None = None
    owned_partitions: Sequence[PartitionKey] = ()
    generation: int = NO_GENERATION
    rack: str | None = None
    group_instance_id: str | None = None


PartitionRacks = Mapping[str, Sequence[frozenset[str]]]
"""Topics with their partitions from 0 on: for each, the racks of its replicas."""

Assignments = dict[str, list[PartitionKey]]
"""The partitions of each member, by member id; in the order in which they are written."""


class Assignor(Protocol):
    """A way to divide partitions among members, under the name that members agree on.

    An assignor may remember its own member's last assignment, so each member has its own.
    """

    @property
    def name(self) -> str:
        """Return its name in JoinGroup."""
        ...

    @property
    def protocols(self) -> tuple[RebalanceProtocol, ...]:
        """Return the rebalance protocols that it supports."""
        ...

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:
        """Return what its own member says to it, or to the leader's, in its subscription."""
        ...

    def assign(
        self, partition_racks: PartitionRacks, members: Mapping[str, MemberSubscription]
    ) -> Assignments:
        """Return the partitions of every member.

        Args:
            partition_racks: the topics that there are; others get no partitions.
            members: by member id, in the order of the JoinGroup response.
        """
        ...

    def on_assignment(self, assignment: Sequence[PartitionKey], generation: int) -> None:
        """Remember what its own member was assigned."""
        ...


def partition_racks_of(cluster: Cluster, topics: Iterable[str]) -> dict[str, list[frozenset[str]]]:
    """Return the partitions of some topics, and in which racks their replicas are."""
    racks = {each.id: each.rack for each in cluster.brokers.values()}
    return {
        name: [
            frozenset(rack for each in one.replica_ids if (rack := racks.get(each)) is not None)
            for one in cluster.topics[name].partitions
        ]
        for name in topics
        if name in cluster.topics and cluster.topics[name].partitions
    }


def member_order(member: tuple[str, MemberSubscription]) -> tuple[bool, bytes]:
    """Return the sort key of a member: static ones by instance id, then others by member id."""
    member_id, subscription = member
    instance_id = subscription.group_instance_id
    return instance_id is None, java_units(member_id if instance_id is None else instance_id)


def uses_racks(consumer_racks: Iterable[str], partition_racks: Iterable[frozenset[str]]) -> bool:
    """Return whether an assignment must heed racks: not if every partition is in all of them."""
    of_partitions = list(partition_racks)
    everywhere = frozenset[str]().union(*of_partitions)
    return not everywhere.isdisjoint(consumer_racks) and any(
        each != everywhere for each in of_partitions
    )
