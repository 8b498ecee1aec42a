"""Which partitions changed hands between two assignments."""

from collections.abc import Mapping
from typing import NamedTuple

Assignments = Mapping[str, frozenset[tuple[str, int]]]
"""The partitions of each member by id."""


class Move(NamedTuple):
    """A partition that changed hands.

    Attributes:
        topic, partition: the partition.
        source, target: ids of its members before and after; None for nobody.
    """

    topic: str
    partition: int
    source: str | None
    target: str | None


class Moved(NamedTuple):
    """The partitions that changed hands, of all that were assigned before or after."""

    moves: tuple[Move, ...]
    partition_count: int


def moved_between(before: Assignments, after: Assignments) -> Moved:
    """Return the partitions that have another owner than before, or none, or had none.

    Args:
        before: the whole assignment; a member that is missing owns nothing.
        after: the same, later.
    """
    former, present = _owners(before), _owners(after)
    every = sorted(former.keys() | present.keys())
    moves = tuple(
        Move(topic, number, former.get((topic, number)), present.get((topic, number)))
        for topic, number in every
        if former.get((topic, number)) != present.get((topic, number))
    )
    return Moved(moves, len(every))


def _owners(assignments: Assignments) -> dict[tuple[str, int], str]:
    """Return the owner of each partition.

    Of two owners the first by id counts; a correct assignment has one.
    """
    return {
        partition: member
        for member in sorted(assignments, reverse=True)
        for partition in assignments[member]
    }
