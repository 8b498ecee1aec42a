"""Stalls of 40 and 200 ms: what Nagle's algorithm and delayed acknowledgements do to each other.

A sender that has TCP_NODELAY off holds a small write back until the one before is acknowledged. The
receiver puts the acknowledgement off, in the hope of sending it along with data: by 40 ms on Linux,
by 200 ms on Windows and macOS. A message in two small writes then takes that much longer:

    broker  first write ---->                 second write ---->
    client                   ... 40 ms ... ACK

Where the answer is in two writes, its first byte is there 40 ms before its last: kdiag sees that.
Where it is the request, on its way from one proxy to the next, the broker seems to take 40 ms more;
then a cluster of latencies there is all there is to see.

Source: RFC 896, RFC 1122 section 4.2.3.2; Linux `TCP_DELACK_MIN`, `TCP_RTO_MIN`.
"""

from enum import StrEnum
from typing import Final

import msgspec

from kdiag.diagnosis.latency.split import LatencySplit

_MS: Final = 1_000_000
_WINDOWS: Final = {40: (37 * _MS, 50 * _MS), 200: (195 * _MS, 225 * _MS)}
"""Where latencies of a stall lie, by its ms; timers are never early and a little late."""
_SLOW_NS: Final = 20 * _MS
_LEAST_COUNT: Final = 5
_LEAST_SHARE: Final = 0.01
_CLUSTER: Final = 2
"""A cluster holds so many times what is slow in any other way."""


class StallPlace(StrEnum):
    """Where a message stalls."""

    ANSWER = "answer"
    """Its first bytes are there, its last are not."""
    BROKER = "broker"
    """Before any byte of the answer is there."""


class Stall(msgspec.Struct, frozen=True):
    """Latencies that cluster where timers of TCP are.

    Attributes:
        place: where.
        stall_ms: 40 or 200.
        count: how many of them there are.
        share: which part of all that is.
    """

    place: StallPlace
    stall_ms: int
    count: int
    share: float


class StallTally(msgspec.Struct):
    """Counts latencies by whether, where and for how long they stall.

    Attributes:
        count: how many there are.
        stalled: how many stall, by place and ms.
        slow: how many are slow in another way, by place.
    """

    count: int = 0
    stalled: dict[tuple[StallPlace, int], int] = {}
    slow: dict[StallPlace, int] = {}

    def add(self, split: LatencySplit) -> None:
        """Take a latency."""
        self.count += 1
        # What was held back leaves when the acknowledgement arrives, and has yet to come here.
        self._add(StallPlace.ANSWER, split.receiving_ns - split.path_ns)
        self._add(StallPlace.BROKER, split.broker_ns)

    def _add(self, place: StallPlace, time_ns: int) -> None:
        for stall_ms, (low_ns, high_ns) in _WINDOWS.items():
            if low_ns <= time_ns < high_ns:
                self.stalled[place, stall_ms] = self.stalled.get((place, stall_ms), 0) + 1
                return
        if time_ns >= _SLOW_NS:
            self.slow[place] = self.slow.get(place, 0) + 1

    def stalls(self) -> list[Stall]:
        """Return what clusters.

        A broker that always takes 40 ms is no cluster: there must be fast answers as well.
        """
        found = []
        for (place, stall_ms), count in sorted(self.stalled.items()):
            others = self.slow.get(place, 0)
            is_cluster = count >= max(_LEAST_COUNT, _LEAST_SHARE * self.count, _CLUSTER * others)
            fast = self.count - others - self._stalled_at(place)
            if is_cluster and (place is StallPlace.ANSWER or fast >= _LEAST_COUNT):
                found.append(Stall(place, stall_ms, count, count / self.count))
        return found

    def _stalled_at(self, place: StallPlace) -> int:
        return sum(count for (each, _), count in self.stalled.items() if each is place)
