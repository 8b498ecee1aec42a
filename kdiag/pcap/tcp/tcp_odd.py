"""Segments that do not start where the one before ended: lost, overtaken, or seen twice.

a retransmission     its bytes were seen before, or had been missing for longer than packets
                     overtake each other
out of order         its bytes had been missing for a moment only
captured twice       the same was seen an instant ago: on another interface
"""

from typing import Final, NamedTuple

from kdiag.exchange.tcp_facts import TcpDirection

LONG_AGO: Final = -1 << 62

_TWICE_NS: Final = 1_000_000
_OVERTAKING_NS: Final = 3_000_000
_TIMER_NS: Final = 200_000_000  # no system that Kafka runs on retransmits by timer sooner
_MOST_HOLES: Final = 1024


class OddSegment(NamedTuple):
    """A segment that does not start where the one before ended.

    Attributes:
        start: where it starts in the stream.
        stop: where it ends.
        high: where what was sent before ends.
        time_ns: when it was seen.
        before_ns: when the segment before it was seen.
        first_ns: when one that ends in the same place was seen; `LONG_AGO` if none was.
    """

    start: int
    stop: int
    high: int
    time_ns: int
    before_ns: int
    first_ns: int


class _Hole(NamedTuple):
    """Bytes that have not been seen, though later ones have."""

    start: int
    stop: int
    since_ns: int


class OddSegments:
    """Tells what the odd segments of a direction are, and counts them."""

    __slots__ = ("_direction", "_holes")

    def __init__(self, direction: TcpDirection) -> None:
        """Count into the facts of a direction."""
        self._direction = direction
        self._holes: list[_Hole] = []

    def take(self, segment: OddSegment) -> bool:
        """Count an odd segment; return whether it is a retransmission."""
        start, stop, high, time_ns, before_ns, first_ns = segment
        if start > high:
            self._holes.append(_Hole(high, start, time_ns))
            del self._holes[:-_MOST_HOLES]
            return False
        if stop == high == start + 1:
            return False  # a keep-alive, or a probe of a closed window
        missing_ns = self._fill(start, stop, time_ns)
        direction = self._direction
        if missing_ns is not None and missing_ns < _OVERTAKING_NS:
            direction.out_of_order += 1
            return False
        if missing_ns is None and time_ns - first_ns < _TWICE_NS:
            direction.captured_twice += 1
            return False
        direction.retransmits += 1
        direction.retransmitted_bytes += stop - start
        direction.timeouts += time_ns - before_ns >= _TIMER_NS
        return True

    def _fill(self, start: int, stop: int, time_ns: int) -> int | None:
        """Take bytes that were missing; return since when the first were, None if none was."""
        filled = [hole for hole in self._holes if hole.start < stop and start < hole.stop]
        for hole in filled:
            self._holes.remove(hole)
            if hole.start < start:
                self._holes.append(hole._replace(stop=start))
            if stop < hole.stop:
                self._holes.append(hole._replace(start=stop))
        return time_ns - filled[0].since_ns if filled else None
