"""Range: each topic's partitions in consecutive ranges, one for each of its members.

Ten partitions for three members that are sorted by their ids are 0-3, 4-6, 7-9. Members with the
same topics get the same numbers of each, which joins of co-partitioned topics need.

Where members and replicas have racks, ranges make way for them: each member is first given
partitions with a replica in its own rack, up to its fair share of the topic, and what is left goes
in ranges. Topics with the same members and the same number of partitions stay co-partitioned: a
member gets a number of all of them, if it is in its rack in all.

Source: Kafka's `RangeAssignor`; KIP-881.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import (
    Assignments,
    MemberSubscription,
    PartitionRacks,
    RebalanceProtocol,
    member_order,
    uses_racks,
)
from kdiag.client.group.assignor.hash_order import hash_order


class RangeAssignor:
    """Assigns the partitions of each topic in ranges."""

    name = "range"
    protocols = (RebalanceProtocol.EAGER,)

    def subscription_user_data(self, topics: Iterable[str]) -> None:  # noqa: ARG002 - an Assignor's
        """Return None: it needs to know nothing from members."""
        return

    def on_assignment(self, assignment: Sequence[PartitionKey], generation: int) -> None:
        """Remember nothing."""

    def assign(
        self, partition_racks: PartitionRacks, members: Mapping[str, MemberSubscription]
    ) -> Assignments:
        """Return the partitions of every member, those of a topic together."""
        assignments: Assignments = {member_id: [] for member_id in members}
        shares = _shares(partition_racks, members, assignments)
        heeds_racks = any(each.uses_racks for each in shares)
        if heeds_racks:
            _assign_within_racks(shares)
        for share in shares:
            _assign_ranges(share)
        if heeds_racks:
            for each in assignments.values():
                each.sort()
        return assignments


class _TopicShare:
    """One topic while it is divided.

    Attributes:
        topic: its name.
        members: the ids of those that subscribe to it in their order, and their racks.
        racks: of each partition.
        uses_racks: whether racks matter.
        unassigned: partitions, ascending.
    """

    def __init__(
        self,
        topic: str,
        racks: Sequence[frozenset[str]],
        members: Mapping[str, str | None],
        assignments: Assignments,
    ) -> None:
        self.topic = topic
        self.members = members
        self.racks = racks
        self.uses_racks = uses_racks(filter(None, members.values()), racks)
        self.unassigned = dict.fromkeys(range(len(racks)))
        self._assignments = assignments
        self._counts = dict.fromkeys(members, 0)
        self._quota, self._extra = divmod(len(racks), len(members)) if members else (0, 0)

    def is_near(self, member_id: str, partition: int) -> bool:
        """Return whether a partition is in a member's rack, or the member has none."""
        rack = self.members[member_id]
        return rack is None or rack in self.racks[partition]

    def room(self, member_id: str) -> int:
        """Return how many more partitions a member may have."""
        return max(0, self._quota + (self._extra > 0) - self._counts[member_id])

    def assign(self, member_id: str, partitions: Iterable[int]) -> None:
        """Assign some of the unassigned partitions."""
        for partition in partitions:
            del self.unassigned[partition]
            self._counts[member_id] += 1
            self._assignments[member_id].append(PartitionKey(self.topic, partition))
        self._extra -= self._counts[member_id] > self._quota


def _shares(
    partition_racks: PartitionRacks,
    members: Mapping[str, MemberSubscription],
    assignments: Assignments,
) -> list[_TopicShare]:
    """Return the topics to divide, in the order in which Java's maps list them."""
    by_topic: defaultdict[str, dict[str, str | None]] = defaultdict(dict)
    for member_id, subscription in sorted(members.items(), key=member_order):
        for topic in subscription.topics:
            by_topic[topic][member_id] = subscription.rack or None
    named = hash_order(topic for each in hash_order(members) for topic in members[each].topics)
    known = hash_order(topic for topic in named if partition_racks.get(topic))
    return [
        _TopicShare(topic, partition_racks[topic], by_topic[topic], assignments) for topic in known
    ]


def _assign_ranges(
    share: _TopicShare, may_have: Callable[[str, int], bool] = lambda *_: True
) -> None:
    """Give each member as many partitions as it may have, those that come first."""
    for member_id in share.members:
        if not share.unassigned:
            break
        wanted = (each for each in share.unassigned if may_have(member_id, each))
        if partitions := list(islice(wanted, share.room(member_id))):
            share.assign(member_id, partitions)


def _assign_within_racks(shares: Iterable[_TopicShare]) -> None:
    """Assign partitions to members in their racks, the same numbers where topics are alike."""
    alike: defaultdict[tuple[object, int], list[_TopicShare]] = defaultdict(list)
    for share in shares:
        # Java counts the partitions whose racks it has looked up: none where no member has a rack.
        count = len(share.racks) if any(share.members.values()) else 0
        alike[frozenset(share.members.items()), count].append(share)
    for (_, count), group in alike.items():
        if len(group) > 1:
            _assign_copartitioned(group, count)
        elif group[0].uses_racks:
            _assign_ranges(group[0], group[0].is_near)


def _assign_copartitioned(shares: Sequence[_TopicShare], count: int) -> None:
    """Assign numbers that are in the rack of a member in all topics, in all of them to it."""
    with_room = dict.fromkeys(shares[0].members)
    for partition in range(count):
        for member_id in with_room:
            if all(
                each.is_near(member_id, partition) and each.room(member_id) > 0 for each in shares
            ):
                break
        else:
            continue
        for share in shares:
            share.assign(member_id, (partition,))
        if not any(each.room(member_id) for each in shares):
            del with_room[member_id]
