"""The states of a classic group, and which may follow which.

    Empty -> PreparingRebalance -> CompletingRebalance -> Stable
      ^            |    ^  ^            |                   |
      +------------+    |  +------------+                   |
                        +-----------------------------------+
    any -> Dead

Source: Kafka's `GroupState`, `ClassicGroupState`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class ClassicGroupState(StrEnum):
    """The states, by the names that clients are told."""

    EMPTY = "Empty"
    """No members; offsets may be there."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """Waits for members to join."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """Waits for the leader's assignment."""
    STABLE = "Stable"
    """Every member has its assignment, or can have it."""
    DEAD = "Dead"
    """Removed, or coordinated elsewhere."""

    def may_follow(self, before: "ClassicGroupState") -> bool:
        """Return whether a group may come from another state to this one."""
        return before in _BEFORE[self]


_BEFORE: Final[Mapping[ClassicGroupState, frozenset[ClassicGroupState]]] = {
    ClassicGroupState.EMPTY: frozenset({ClassicGroupState.PREPARING_REBALANCE}),
    ClassicGroupState.PREPARING_REBALANCE: frozenset(
        {
            ClassicGroupState.STABLE,
            ClassicGroupState.COMPLETING_REBALANCE,
            ClassicGroupState.EMPTY,
        }
    ),
    ClassicGroupState.COMPLETING_REBALANCE: frozenset({ClassicGroupState.PREPARING_REBALANCE}),
    ClassicGroupState.STABLE: frozenset({ClassicGroupState.COMPLETING_REBALANCE}),
    ClassicGroupState.DEAD: frozenset(ClassicGroupState),
}
