"""The sticky assignment of members that all have the same topics: everybody has a fair share.

Of seven partitions for three members, the quota is two or three, and one member has three:

1. Each keeps what it owned, up to its quota (with racks that matter: what is in its rack).
2. With racks, what is left goes in turn to members in the rack that have less than the quota.
3. What is left goes in turn to members that have less than the quota.

A partition that is taken from one member and given to another is being *transferred*: a cooperative
member must give it up first.

Source: `AbstractStickyAssignor.ConstrainedAssignmentBuilder`.
"""

from collections import deque
from collections.abc import Iterable, Sequence

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import Assignments, PartitionRacks
from kdiag.client.group.assignor.hash_order import java_units
from kdiag.client.group.assignor.owned_partitions import OwnedPartitions
from kdiag.client.group.assignor.rack_info import RackInfo


class ConstrainedAssignment:
    """One assignment of all partitions, in three steps.

    Attributes:
        assignments: so far.
        transferred: partitions that others owned, or that several claimed, and their new members.
    """

    def __init__(
        self, partition_racks: PartitionRacks, rack_info: RackInfo, owned: OwnedPartitions
    ) -> None:
        self.assignments: Assignments = {member_id: [] for member_id in owned.by_member}
        self.transferred: dict[PartitionKey, str] = {}
        self._partition_racks = partition_racks
        self._rack_info = rack_info
        self._owned = owned
        count = sum(map(len, partition_racks.values()))
        self._min_quota, self._over_wanted = divmod(count, len(self.assignments))
        self._max_quota = self._min_quota + bool(self._over_wanted)
        self._over = 0
        self._revoked: dict[PartitionKey, str] = {}
        self._below: list[str] = []
        self._at_min: deque[str] = deque()

    def build(self) -> Assignments:
        """Return the partitions of each member."""
        for member_id, partitions in self._owned.by_member.items():
            self._keep(member_id, partitions)
        self._below.sort(key=java_units)
        self._at_min = deque(sorted(self._at_min, key=java_units))
        unassigned = self._rack_info.rarest_first(self._unassigned())
        if self._rack_info.consumer_racks:
            unassigned = self._assign_near(unassigned)
        self._assign_in_turn(unassigned)
        return self.assignments

    def _keep(self, member_id: str, partitions: Iterable[PartitionKey]) -> None:
        """Have a member keep what it owned, up to the quota."""
        near = []
        for key in partitions:
            if self._rack_info.is_far(member_id, key):
                self._revoked[key] = member_id
            elif key not in self._owned.disputed:
                near.append(key)
        near.sort(key=lambda key: (key.partition, key.topic))
        count = self._kept_count(member_id, len(near))
        self.assignments[member_id] += near[:count]
        self._revoked.update(dict.fromkeys(near[count:], member_id))

    def _kept_count(self, member_id: str, owned_count: int) -> int:
        """Return how many partitions a member keeps, and remember whether it may have more."""
        if owned_count < self._min_quota:
            self._below.append(member_id)
            return owned_count
        if owned_count >= self._max_quota and self._over < self._over_wanted:
            self._add_over()
            return self._max_quota
        if self._over < self._over_wanted:
            self._at_min.append(member_id)
        return self._min_quota

    def _unassigned(self) -> list[PartitionKey]:
        assigned = {key for each in self.assignments.values() for key in each}
        return [
            key
            for topic in sorted(self._partition_racks)
            for key in (PartitionKey(topic, i) for i in range(len(self._partition_racks[topic])))
            if key not in assigned
        ]

    def _add_over(self) -> None:
        """Count a member that has more than the least quota; the last one closes the list."""
        self._over += 1
        if self._over == self._over_wanted:
            self._at_min.clear()

    def _assign_near(self, partitions: Iterable[PartitionKey]) -> list[PartitionKey]:
        """Assign partitions within racks as far as the quota allows, and return the others."""
        left = []
        index = 0
        for key in partitions:
            found = self._rack_info.next_near(key, self._below, index)
            if found is not None:
                index = self._assign_below(key, found)
            elif not self._assign_at_min(key):
                left.append(key)
        return left

    def _assign_below(self, key: PartitionKey, found: int) -> int:
        """Assign a partition to a member below the quota, and return the index of the next."""
        member_id = self._below[found]
        count = self._assign(key, member_id)
        if count < self._min_quota:
            found += 1
        else:
            del self._below[found]
            if count < self._max_quota and self._over < self._over_wanted:
                self._at_min.append(member_id)
        return found % len(self._below) if self._below else 0

    def _assign_at_min(self, key: PartitionKey) -> bool:
        """Assign a partition to a member that has the least quota, if one is in its rack."""
        found = self._rack_info.next_near(key, self._at_min, 0)
        if found is None:
            return False
        member_id = self._at_min[found]
        del self._at_min[found]
        self._add_over()
        self._assign(key, member_id)
        return True

    def _assign_in_turn(self, partitions: Sequence[PartitionKey]) -> None:
        """Assign partitions to members below the quota, then to those that may have one more."""
        index = 0
        for key in partitions:
            if not self._below:
                self._assign(key, self._at_min.popleft())
                continue
            index %= len(self._below)
            member_id = self._below[index]
            if self._assign(key, member_id) == self._min_quota:
                del self._below[index]
                self._at_min.append(member_id)
            else:
                index += 1

    def _assign(self, key: PartitionKey, member_id: str) -> int:
        """Assign a partition that its new member did not keep, and return how many it has."""
        assigned = self.assignments[member_id]
        assigned.append(key)
        if self._revoked.get(key, member_id) != member_id or key in self._owned.disputed:
            self.transferred[key] = member_id
        return len(assigned)
