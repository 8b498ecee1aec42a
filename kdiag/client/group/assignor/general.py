"""The sticky assignment of members with different topics: as even as it can be, step by step.

1. Everybody keeps what it owned, of topics that it still subscribes to (and, with racks that
   matter, in its rack).
2. What is left goes to the member with the fewest partitions, of those that may have it; first
   within racks, if they matter.
3. Partitions move from members to others that have at least two fewer, until none can; a partition
   that another member had in an earlier generation moves back to it.

If members owned something and the third step has not made it more even, it is undone.

A step of the third is cheap: the members are kept sorted by how many partitions they have, and the
first that subscribes to a topic is the one to move to. So there is no need to look at all members
for each partition, as Java does to see whether it is done.

There are two inputs for which Java has no result, both with members that had a partition in an
earlier generation and do not subscribe to its topic any more: it fails if such a member takes no
part in the third step, and it never ends if partitions go round in circles. Here such a member is
passed over, and the step ends when it comes back to where it has been.

Source: `AbstractStickyAssignor.GeneralAssignmentBuilder`.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import (
    NO_GENERATION,
    Assignments,
    MemberSubscription,
    PartitionRacks,
)
from kdiag.client.group.assignor.hash_order import java_units
from kdiag.client.group.assignor.owned_partitions import MemberData, OwnedPartitions
from kdiag.client.group.assignor.partition_movements import PartitionMovements
from kdiag.client.group.assignor.rack_info import RackInfo

_Current = dict[str, dict[PartitionKey, None]]


class PreviousOwner(NamedTuple):
    """The member that had a partition in an earlier generation."""

    member_id: str
    generation: int


def previous_owners(
    data_by_member: Mapping[str, MemberData], max_generation: int
) -> dict[PartitionKey, PreviousOwner]:
    """Return the last owners of partitions before the latest generation that any member knows."""
    owners: dict[PartitionKey, PreviousOwner] = {}
    for member_id, data in data_by_member.items():
        generation = NO_GENERATION if data.generation is None else data.generation
        if generation >= max_generation:
            continue
        for key in data.partitions:
            if key not in owners or generation > owners[key].generation:
                owners[key] = PreviousOwner(member_id, generation)
    return owners


class GeneralAssignment:
    """One assignment of all partitions, in three steps."""

    def __init__(
        self,
        partition_racks: PartitionRacks,
        rack_info: RackInfo,
        owned: OwnedPartitions,
        members: Mapping[str, MemberSubscription],
    ) -> None:
        self._partition_racks = partition_racks
        self._rack_info = rack_info
        self._topics = {
            member_id: partition_racks.keys() & each.topics for member_id, each in members.items()
        }
        self._most = {
            member_id: sum(len(partition_racks[topic]) for topic in topics)
            for member_id, topics in self._topics.items()
        }
        self._consumers: dict[str, list[str]] = {topic: [] for topic in partition_racks}
        for member_id, topics in self._topics.items():
            for topic in topics:
                self._consumers[topic].append(member_id)
        self._consumer_counts = {topic: len(each) for topic, each in self._consumers.items()}
        self._current: _Current = owned.by_member
        self._owners: dict[PartitionKey, str] = {}
        in_order = sorted(members, key=java_units)
        self._ids = in_order
        self._ranks = {member_id: rank for rank, member_id in enumerate(in_order)}
        self._by_size: list[tuple[int, int]] = []
        self._movements = PartitionMovements()
        self._is_balanced: bool | None = None

    def build(self, previous: Mapping[PartitionKey, PreviousOwner]) -> Assignments:
        """Return the partitions of each member, given who had them in earlier generations."""
        is_revoking = self._keep_owned()
        every = self._all_partitions()
        unassigned = [key for key in every if key not in self._owners]
        self._by_size = sorted((len(each), self._ranks[id_]) for id_, each in self._current.items())
        is_first = self._by_size[-1][0] == 0
        self._assign_all(unassigned)
        fixed = self._set_fixed_aside()
        before = {member_id: dict(each) for member_id, each in self._current.items()}
        if not is_revoking:
            self._rebalance(self._movable(unassigned), previous)
        # As in Java, only these movements decide whether all of them may be undone.
        has_moved = self._rebalance(self._movable(every), previous)
        is_better = _unevenness(self._current) < _unevenness(before)
        current = self._current if is_first or not has_moved or is_better else before
        return {member_id: list(each) for member_id, each in {**current, **fixed}.items()}

    def _keep_owned(self) -> bool:
        """Have members keep what they can; return whether one must give something up."""
        is_revoking = False
        for member_id, partitions in self._current.items():
            for key in list(partitions):
                is_wanted = key.topic in self._topics[member_id]
                if is_wanted and not self._rack_info.is_far(member_id, key):
                    self._owners[key] = member_id
                else:
                    del partitions[key]
                    is_revoking = True
        return is_revoking

    def _all_partitions(self) -> list[PartitionKey]:
        """Return all partitions, those that the fewest members may have first."""
        counts = self._consumer_counts
        return [
            PartitionKey(topic, index)
            for topic in sorted(self._partition_racks, key=lambda topic: (counts[topic], topic))
            for index in range(len(self._partition_racks[topic]))
        ]

    def _assign_all(self, partitions: Iterable[PartitionKey]) -> None:
        """Assign partitions to the members with the fewest, within racks if they matter."""
        left = [key for key in partitions if self._consumer_counts[key.topic]]
        if self._rack_info.consumer_racks:
            left = [key for key in left if not self._assign_near(key)]
        for key in left:
            self._assign(key, self._least_loaded(key.topic))

    def _assign_near(self, key: PartitionKey) -> bool:
        """Assign a partition to the member in its rack with the fewest, if there is one."""
        for _, rank in self._by_size:
            member_id = self._ids[rank]
            is_wanted = key.topic in self._topics[member_id]
            if is_wanted and not self._rack_info.is_far(member_id, key):
                self._assign(key, member_id)
                return True
        return False

    def _least_loaded(self, topic: str) -> str:
        """Return the member with the fewest partitions that subscribes to a topic."""
        consumers = self._consumers[topic]
        if len(consumers) ** 2 < len(self._by_size):  # then looking at these is faster
            return min(consumers, key=lambda each: (len(self._current[each]), self._ranks[each]))
        subscribed = self._topics
        return next(
            self._ids[rank] for _, rank in self._by_size if topic in subscribed[self._ids[rank]]
        )

    def _assign(self, key: PartitionKey, member_id: str) -> None:
        self._resize(member_id, 1)
        self._current[member_id][key] = None
        self._owners[key] = member_id

    def _resize(self, member_id: str, change: int) -> None:
        """Sort a member anew that is about to have more or fewer partitions."""
        size, rank = len(self._current[member_id]), self._ranks[member_id]
        del self._by_size[bisect_left(self._by_size, (size, rank))]
        insort(self._by_size, (size + change, rank))

    def _set_fixed_aside(self) -> _Current:
        """Take members out that can neither give nor take, and return what they have."""
        fixed = [member_id for member_id in self._topics if self._is_fixed(member_id)]
        for member_id in fixed:
            entry = len(self._current[member_id]), self._ranks[member_id]
            del self._by_size[bisect_left(self._by_size, entry)]
        return {member_id: self._current.pop(member_id) for member_id in fixed}

    def _is_fixed(self, member_id: str) -> bool:
        partitions = self._current[member_id]
        return len(partitions) >= self._most[member_id] and not self._movable(partitions)

    def _movable(self, partitions: Iterable[PartitionKey]) -> list[PartitionKey]:
        """Return the partitions that more than one member may have."""
        return [key for key in partitions if self._consumer_counts[key.topic] > 1]

    def _rebalance(
        self,
        partitions: Iterable[PartitionKey],
        previous: Mapping[PartitionKey, PreviousOwner],
    ) -> bool:
        """Move partitions to members that have fewer while any can; return whether any was."""
        has_moved = False
        seen = set()
        while sum([self._improve(key, previous.get(key)) for key in partitions]):
            has_moved = True
            state = frozenset(self._owners.items()), self._movements.snapshot()
            if state in seen:
                break
            seen.add(state)
        return has_moved

    def _improve(self, key: PartitionKey, previous: PreviousOwner | None) -> bool:
        """Move a partition, or another of its topic in its place, if that makes it more even."""
        size = len(self._current[self._owners[key]])
        if size <= self._by_size[0][0] + 1:
            return False
        target = None if previous is None else previous.member_id
        if target not in self._current or size <= len(self._current[target]) + 1:
            target = self._least_loaded(key.topic)
            if size <= len(self._current[target]) + 1:
                return False
        if not self._has_room(target, key.topic) and self._is_done():
            return False
        self._move(key, target)
        return True

    def _has_room(self, member_id: str, topic: str) -> bool:
        """Return whether a member may have more partitions of a topic.

        As in Java, a partition may go back to a member that does not subscribe to its topic any
        more, while others can still be moved; and who has as many as there are of its topics is
        believed to have those.
        """
        is_full = len(self._current[member_id]) == self._most[member_id]
        return topic in self._topics[member_id] and not is_full

    def _is_done(self) -> bool:
        """Return whether no member has room for a partition of one that has two more."""
        if self._is_balanced is None:
            self._is_balanced = not any(
                self._has_room(member_id, topic) and len(self._current[member_id]) + 1 < largest
                for topic, largest in self._largest_owners().items()
                for member_id in self._current
            )
        return self._is_balanced

    def _largest_owners(self) -> dict[str, int]:
        """Return how many partitions the fullest owner has of those that share a topic."""
        largest: dict[str, int] = {}
        for partitions in self._current.values():
            for topic in {key.topic for key in partitions}:
                largest[topic] = max(largest.get(topic, 0), len(partitions))
        return largest

    def _move(self, key: PartitionKey, target: str) -> None:
        moved = self._movements.to_move(key, self._owners[key], target)
        source = self._owners[moved]
        self._movements.move(moved, source, target)
        if source != target:
            self._resize(source, -1)
            del self._current[source][moved]
            self._assign(moved, target)
        self._is_balanced = None


def _unevenness(current: _Current) -> int:
    """Return the sum of the differences between all pairs of members."""
    sizes = sorted(map(len, current.values()))
    return sum(size * (2 * index - len(sizes) + 1) for index, size in enumerate(sizes))
