"""Stalls of 40 and 200 ms: what Nagle's algorithm and delayed acknowledgements do to each other.

A sender without TCP_NODELAY holds a small write back until the one before is acknowledged. The
receiver delays the acknowledgement, to send it along with data: by 40 ms on Linux, by 200 ms on
Windows and macOS. A message in two small writes then takes that much longer:

    broker  first write ---->                 second write ---->
    client                   ... 40 ms ... ACK

If the response is in two writes, its first byte arrives 40 ms before its last: kdiag sees that. If
it is the request, on its way from one proxy to the next, the broker seems to take 40 ms more; then
a cluster of latencies is the only sign.

Source: RFC 896, RFC 1122 section 4.2.3.2; Linux `TCP_DELACK_MIN`, `TCP_RTO_MIN`.
"""

from enum import StrEnum
from typing import Final

import msgspec

from kdiag.diagnosis.latency.split import LatencySplit

_MS: Final = 1_000_000
_WINDOWS: Final = {40: (37 * _MS, 50 * _MS), 200: (195 * _MS, 225 * _MS)}
"""The range of a stall's latencies, by its ms; timers are never early and a little late."""
_SLOW_NS: Final = 20 * _MS
_LEAST_COUNT: Final = 5
_LEAST_SHARE: Final = 0.01
_CLUSTER: Final = 2
"""A cluster has at least so many times the latencies that are slow in another way."""


class StallPlace(StrEnum):
    """The places where a message stalls."""

    ANSWER = "answer"
    """Between the first and the last byte of the response."""
    BROKER = "broker"
    """Before the first byte of the response."""


class Stall(msgspec.Struct, frozen=True):
    """A cluster of latencies at a timer of TCP.

    Attributes:
        place: the place.
        stall_ms: 40 or 200.
        count: the number of latencies in it.
        share: their share of all latencies.
    """

    place: StallPlace
    stall_ms: int
    count: int
    share: float


class StallTally(msgspec.Struct):
    """Counts latencies by the place and length of their stalls.

    Attributes:
        count: the number of latencies.
        stalled: the number of those that stall, by place and ms.
        slow: the number of those that are slow in another way, by place.
    """

    count: int = 0
    stalled: dict[tuple[StallPlace, int], int] = {}
    slow: dict[StallPlace, int] = {}

    def add(self, split: LatencySplit) -> None:
        """Add a latency."""
        self.count += 1
        # The second write leaves when the acknowledgement arrives, and then travels here.
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
        """Return the clusters.

        A broker that always takes 40 ms is not a cluster: there must be fast responses as well.
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
