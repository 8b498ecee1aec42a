"""Round-robin: all partitions of all topics in turn, one for each member.

    partitions  a[0] a[1] b[0] b[1] b[2]        with the same topics for m1 and m2:
    m1          a[0]      b[0]      b[2]
    m2               a[1]      b[1]

A member is passed over for partitions of topics that it does not subscribe to, so members with
different topics may get very different numbers.

Source: Kafka's `RoundRobinAssignor`.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import (
    Assignments,
    MemberSubscription,
    PartitionRacks,
    RebalanceProtocol,
    member_order,
)


class RoundRobinAssignor:
    """Assigns all partitions in turn."""

    name = "roundrobin"
    protocols = (RebalanceProtocol.EAGER,)

    def subscription_user_data(self, topics: Iterable[str]) -> None:  # noqa: ARG002 - an Assignor's
        """Return None: it needs to know nothing from members."""
        return

    def on_assignment(self, assignment: Sequence[PartitionKey], generation: int) -> None:
        """Remember nothing."""

    def assign(
        self, partition_racks: PartitionRacks, members: Mapping[str, MemberSubscription]
    ) -> Assignments:
        """Return the partitions of every member, sorted."""
        topics = {member_id: frozenset(each.topics) for member_id, each in members.items()}
        subscribed = frozenset[str]().union(*topics.values())
        assignments: Assignments = {member_id: [] for member_id in members}
        turns = cycle(member_id for member_id, _ in sorted(members.items(), key=member_order))
        for topic in sorted(subscribed & partition_racks.keys()):
            for partition in range(len(partition_racks[topic])):
                member_id = next(each for each in turns if topic in topics[each])
                assignments[member_id].append(PartitionKey(topic, partition))
        return assignments
