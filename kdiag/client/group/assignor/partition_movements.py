"""Partition movements: which partition to move instead of one that would only change places.

If a partition of a topic was moved from m1 to m2, and now another of that topic is to be moved from
m2 to m1, the first is moved back: otherwise two members would exchange partitions for nothing.

Source: `AbstractStickyAssignor.PartitionMovements`.
"""

from collections import defaultdict

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.hash_order import PartitionSet

_Pair = tuple[str, str]
"""The member that had a partition first, and the one that has it now."""


class PartitionMovements:
    """The movements of one assignment so far."""

    def __init__(self) -> None:
        self._pairs: dict[PartitionKey, _Pair] = {}
        self._moved: defaultdict[str, dict[_Pair, PartitionSet]] = defaultdict(dict)

    def move(self, key: PartitionKey, source: str, target: str) -> None:
        """Record the movement of a partition."""
        before = self._pairs.pop(key, None)
        if before is not None:
            source = before[0]
            self._forget(key, before)
        if source != target:
            self._pairs[key] = source, target
            moved = self._moved[key.topic].setdefault((source, target), PartitionSet(key.topic))
            moved.add(key)

    def to_move(self, key: PartitionKey, source: str, target: str) -> PartitionKey:
        """Return the partition to move in place of this one, or itself."""
        origin = self._pairs[key][0] if key in self._pairs else source
        back = self._moved[key.topic].get((target, origin))
        return key if back is None else back.first()

    def snapshot(self) -> frozenset[tuple[PartitionKey, _Pair]]:
        """Return all movements, to be compared with later ones."""
        return frozenset(self._pairs.items())

    def _forget(self, key: PartitionKey, pair: _Pair) -> None:
        moved = self._moved[key.topic]
        moved[pair].remove(key)
        if not moved[pair]:
            del moved[pair]
