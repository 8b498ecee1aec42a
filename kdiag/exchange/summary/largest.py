"""The connections with the most bytes: a capture may have more of them than memory has room for."""

import heapq
from collections.abc import Iterator
from typing import Generic, TypeVar

from kdiag.exchange.model import Connection

AnyFacts = TypeVar("AnyFacts")


class LargestConnections(Generic[AnyFacts]):
    """Keeps the facts of the connections that carried the most bytes; of equals the first ones.

    Attributes:
        left_out: of how many connections they are not kept.
    """

    def __init__(self, most: int) -> None:
        """Keep none yet.

        Args:
            most: of how many connections they are kept.
        """
        self.left_out = 0
        self._most = most
        self._added = 0
        self._kept: list[tuple[int, int, int, AnyFacts]] = []

    def add(self, connection: Connection, facts: AnyFacts) -> None:
        """Add the facts of a connection that has ended."""
        self._added += 1
        size = connection.request_bytes + connection.response_bytes
        entry = size, -connection.number, -self._added, facts
        if len(self._kept) < self._most:
            heapq.heappush(self._kept, entry)
        else:
            heapq.heappushpop(self._kept, entry)
            self.left_out += 1

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[AnyFacts]:
        """Yield the facts of all that are kept, in the order of the connections' numbers."""
        return (entry[-1] for entry in sorted(self._kept, key=lambda entry: (-entry[1], -entry[2])))

    def largest(self) -> Iterator[AnyFacts]:
        """Yield them in the order of their bytes, the most first."""
        return (
            entry[-1] for entry in sorted(self._kept, key=lambda entry: entry[:3], reverse=True)
        )
