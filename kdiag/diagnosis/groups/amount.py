"""A number, and how well it is known; a sum is only as good as the worst of its parts.

    565       counted
    ~565      a difference of offsets: it counts markers and what compaction removed
    >=565     a sum; one part or more is not known
    ?         not known, nor is any part of it
    -         there is nothing to count

An unknown part never becomes a zero: 20 + ? is >=20, and ? + ? is ?.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Final, Generic, TypeVar

import msgspec

N = TypeVar("N", int, float)


class Certainty(StrEnum):
    """How well a number is known, best first."""

    EXACT = "exact"
    ABOUT = "about"
    AT_LEAST = "at_least"
    UNKNOWN = "unknown"


_MARKS: Final = {Certainty.EXACT: "", Certainty.ABOUT: "~", Certainty.AT_LEAST: ">="}


class Amount(msgspec.Struct, Generic[N], frozen=True):
    """A number that may not be known.

    Attributes:
        value: None if it is unknown, or exactly nothing: of a group without partitions.
        certainty: how well it is known.
    """

    value: N | None = None
    certainty: Certainty = Certainty.EXACT

    def __str__(self) -> str:
        if self.certainty is Certainty.UNKNOWN:
            return "?"
        return "-" if self.value is None else f"{_MARKS[self.certainty]}{self.value}"

    @property
    def is_exact(self) -> bool:
        """Return whether it was counted, or there is nothing to count."""
        return self.certainty is Certainty.EXACT

    @property
    def is_whole(self) -> bool:
        """Return whether no part of it is unknown."""
        return self.certainty in {Certainty.EXACT, Certainty.ABOUT}


def unknown() -> Amount[N]:
    """Return an amount of which nothing is known."""
    return Amount(None, Certainty.UNKNOWN)


def total(parts: Iterable[Amount[N]]) -> Amount[N]:
    """Return the sum of amounts."""
    return _joined(parts, sum)


def largest(parts: Iterable[Amount[N]]) -> Amount[N]:
    """Return the largest of amounts."""
    return _joined(parts, max)


def _joined(parts: Iterable[Amount[N]], join: Callable[[list[N]], N]) -> Amount[N]:
    amounts = list(parts)
    known = [each.value for each in amounts if each.value is not None]
    if not all(each.is_whole for each in amounts):
        return Amount(join(known), Certainty.AT_LEAST) if known else unknown()
    is_exact = all(each.is_exact for each in amounts)
    certainty = Certainty.EXACT if is_exact else Certainty.ABOUT
    return Amount(join(known) if known else None, certainty)
