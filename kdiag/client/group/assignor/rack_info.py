"""Racks of members and replicas, as the sticky assignors need them.

Source: `AbstractStickyAssignor.RackInfo`; KIP-881.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import (
    MemberSubscription,
    PartitionRacks,
    uses_racks,
)


class RackInfo:
    """Which partitions are in the racks of which members.

    Attributes:
        consumer_racks: the racks of members, by member id; empty if racks do not matter.
    """

    def __init__(
        self, partition_racks: PartitionRacks, members: Mapping[str, MemberSubscription]
    ) -> None:
        racks = {member_id: each.rack for member_id, each in members.items() if each.rack}
        every = (each for partitions in partition_racks.values() for each in partitions)
        self.consumer_racks = racks if uses_racks(racks.values(), every) else {}
        self._partition_racks = partition_racks
        self._near_counts = Counter(racks.values())

    def is_far(self, member_id: str, key: PartitionKey) -> bool:
        """Return whether racks matter to a member, and a partition is not in its own."""
        rack = self.consumer_racks.get(member_id)
        return rack is not None and rack not in self._partition_racks[key.topic][key.partition]

    def rarest_first(self, partitions: Iterable[PartitionKey]) -> list[PartitionKey]:
        """Return partitions by the number of members in their racks, fewest first.

        As in Java, that is so if any member has a rack, whether racks matter or not.
        """
        counts = self._near_counts
        if not counts:
            return list(partitions)
        return sorted(
            partitions,
            key=lambda key: sum(
                counts[each] for each in self._partition_racks[key.topic][key.partition]
            ),
        )

    def next_near(self, key: PartitionKey, member_ids: Sequence[str], first: int) -> int | None:
        """Return the index of the first member in the rack of a partition, from `first` around."""
        racks = self._partition_racks[key.topic][key.partition]
        if not racks:
            return None
        count = len(member_ids)
        rack_of = self.consumer_racks.get
        around = chain(range(first, count), range(min(first, count)))
        return next((index for index in around if rack_of(member_ids[index]) in racks), None)
