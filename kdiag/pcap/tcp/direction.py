"""One direction of a connection as facts of TCP: segments, round trips, windows, retransmissions.

How it works. Columns are processed as wholes. A segment that starts where the one before ended is
counted and timed there. Any other is odd and classified by itself:

    starts behind the highest byte seen       a hole opens: nothing is counted yet
    one byte, right before the highest byte   a keep-alive, or a probe of a closed window
    fills a hole within 3 ms                  out of order
    repeats a packet                          captured twice: it has the same IP identification, or
                                              came within 1 ms where packets have none
    anything else                             a retransmission; by timer after 200 ms of silence

Round trips are measured from a segment to the first acknowledgement of its last byte, never while
retransmitted bytes wait for theirs (Karn's rule, RFC 6298).
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from kdiag.exchange.tcp_facts import TcpDirection
from kdiag.pcap.tcp.sample import Sample
from kdiag.pcap.tcp.waits import Answers, Integers, Sent, Waits

_MODULUS: Final = 1 << 32
_FAR: Final = 1 << 62
_MOST_PENDING: Final = 1 << 16
LONG_AGO: Final = -1 << 62
_TWICE_NS: Final = 1_000_000
_OVERTAKING_NS: Final = 3_000_000
_TIMER_NS: Final = 200_000_000  # no system that Kafka runs on retransmits by timer sooner
_MOST_HOLES: Final = 1024
_MOST_ODD: Final = 1024


class Columns(NamedTuple):
    """Segments of one end, without SYN and RST, in the order of the capture.

    Attributes:
        time_ns: when each was seen (int64).
        packet: number of the packet (int64).
        sequence: sequence number (uint32).
        acknowledgment: acknowledgment number (uint32).
        has_acknowledgment: whether that counts (bool).
        window: the window field (int64).
        size: payload bytes (int64).
        identity: the identification of the IP packet; 0 where there is none (int64).
    """

    time_ns: Integers
    packet: Integers
    sequence: npt.NDArray[np.uint32]
    acknowledgment: npt.NDArray[np.uint32]
    has_acknowledgment: npt.NDArray[np.bool_]
    window: Integers
    size: Integers
    identity: Integers

    def pick(self, chosen: npt.NDArray[np.bool_] | Integers | slice) -> "Columns":
        """Return the chosen segments, or those of some numbers in their order."""
        columns: Any = (column[chosen] for column in self)
        return Columns(*columns)

    def cut_behind(self, packet: int) -> tuple["Columns", "Columns"]:
        """Return the segments up to a packet, and those behind it."""
        at = int(np.searchsorted(self.packet, packet, "right"))
        return self.pick(slice(at)), self.pick(slice(at, None))


class OddSegment(NamedTuple):
    """A segment that does not start where the one before ended.

    Attributes:
        start: where it starts in the stream.
        stop: where it ends.
        high: the end of the highest byte sent before.
        time_ns: when it was seen.
        before_ns: when the segment before it was seen.
        first_ns: when one that ends in the same place was seen; `LONG_AGO` if none was.
        is_copy: whether that is the same IP packet; None where packets have no identification.
        identity: its identification; 0 where that tells nothing.
    """

    start: int
    stop: int
    high: int
    time_ns: int
    before_ns: int
    first_ns: int
    is_copy: bool | None = None
    identity: int = 0


class Hole(NamedTuple):
    """Bytes that have not been seen, though later ones have."""

    start: int
    stop: int
    since_ns: int


class OddSegments:
    """Classifies the odd segments of a direction, and counts them."""

    __slots__ = ("_direction", "_holes", "_seen")

    def __init__(self, direction: TcpDirection) -> None:
        """Count into the facts of a direction."""
        self._direction = direction
        self._holes: list[Hole] = []
        self._seen: dict[tuple[int, int], None] = {}

    def classify(self, segment: OddSegment) -> bool:
        """Count an odd segment; return whether it is a retransmission."""
        start, stop, high, time_ns, before_ns, first_ns, is_copy, identity = segment
        is_copy = is_copy or self._remember(stop, identity) or is_copy
        if start > high:
            self._holes.append(Hole(high, start, time_ns))
            del self._holes[:-_MOST_HOLES]
            return False
        if stop == high == start + 1:
            return False  # a keep-alive, or a probe of a closed window
        missing_ns = self._fill(start, stop, time_ns)
        direction = self._direction
        if missing_ns is not None and missing_ns < _OVERTAKING_NS:
            direction.out_of_order += 1
            return False
        if is_copy is None:
            is_copy = time_ns - first_ns < _TWICE_NS
        if missing_ns is None and is_copy:
            direction.captured_twice += 1
            return False
        direction.retransmits += 1
        direction.retransmitted_bytes += stop - start
        direction.timeouts += time_ns - before_ns >= _TIMER_NS
        return True

    def _remember(self, stop: int, identity: int) -> bool:
        """Note an odd segment; return whether the same packet was one before."""
        if not identity:
            return False
        is_known = (stop, identity) in self._seen
        self._seen[stop, identity] = None
        if len(self._seen) > _MOST_ODD:
            del self._seen[next(iter(self._seen))]
        return is_known

    def _fill(self, start: int, stop: int, time_ns: int) -> int | None:
        """Fill holes; return how long the first was open, None if none was filled."""
        filled = [hole for hole in self._holes if hole.start < stop and start < hole.stop]
        for hole in filled:
            self._holes.remove(hole)
            if hole.start < start:
                self._holes.append(hole._replace(stop=start))
            if stop < hole.stop:
                self._holes.append(hole._replace(start=stop))
        return time_ns - filled[0].since_ns if filled else None


class TcpDirectionTracker:
    """Follows one direction.

    Attributes:
        direction: the facts so far.
        ack_rtt_ns: round trips from the vantage point to the receiver.
        shift: by how many bits the receiver's window is shifted; None if not known.
        waits: adds up the reasons why the sender waited.
    """

    def __init__(self) -> None:
        self.direction = TcpDirection()
        self.ack_rtt_ns = Sample()
        self.shift: int | None = None
        self.waits = Waits()
        self._window = Sample()
        self._in_flight = Sample()
        self._origin: int | None = None
        self._high = 0
        self._acknowledged = 0
        self._last_ns = 0
        self._edge = 0
        self._odd = OddSegments(self.direction)
        self._recover_until = 0
        self._unacknowledged = np.zeros((3, 0), np.int64)
        self._closed_since_ns: int | None = None
        self._identity = 0
        self._has_identities = False

    def start(self, sequence: int) -> None:
        """Set the sequence number of the first byte, unless it is known."""
        if self._origin is None:
            self._origin = sequence % _MODULUS

    def add_syn_window(self, time_ns: int, window: int) -> None:
        """Add the window of a SYN, which is never shifted."""
        self._edge = max(self._edge, window)
        one = np.array([time_ns], np.int64)
        first = Answers(one, one * 0, one * 0 + self._edge, one * 0 + window)
        self.waits.add(Sent.none(), first, 0, self.direction)

    def add_segments(self, sent: Columns, answered: Columns) -> tuple[Sent, Answers]:
        """Count the next segments of both ends, and measure round trips.

        Args:
            sent: of the sender.
            answered: of the receiver, over the same packets of the capture.
        """
        data = sent.pick(sent.size > 0)
        told = answered.pick(answered.has_acknowledgment)
        if self._origin is None and len(data.sequence):
            self.start(int(data.sequence[0]))
        if self._origin is None and len(told.sequence):
            self.start(int(told.acknowledgment[0]))
        if self._origin is None:
            return Sent.none(), Answers.none()
        acknowledged = self._add_acknowledgments(told)
        passed = self._add_segments(data, told, acknowledged)
        self._note_closing(told)
        answers = self._answers(told, acknowledged)
        if len(told.time_ns):
            self._acknowledged = int(acknowledged[-1])
        return passed, answers

    def add_waits(self, sent: Sent, answers: Answers, rtt_to_sender_ns: int) -> None:
        """Add the waits of the sender, given the result of `add_segments`."""
        self._in_flight.add(self.waits.add(sent, answers, rtt_to_sender_ns, self.direction))

    def facts(self, last_ns: int) -> TcpDirection:
        """Return the facts; the connection's last packet was seen at `last_ns`."""
        direction = self.direction
        if self._closed_since_ns is not None and direction.bytes:
            direction.stalled_ns += last_ns - self._closed_since_ns
        direction.ack_rtt_ns = self.ack_rtt_ns.spread()
        direction.in_flight = self._in_flight.spread()
        direction.window = self._window.spread()
        return direction

    def _unwrap(self, numbers: npt.NDArray[np.uint32], last: int) -> Integers:
        """Return sequence numbers as places in the stream; `last` is the place before."""
        assert self._origin is not None
        before = np.array([(last + self._origin) % _MODULUS], np.uint32)
        steps = np.diff(numbers, prepend=before).view(np.int32)
        return last + np.cumsum(steps, dtype=np.int64)

    def _add_acknowledgments(self, told: Columns) -> Integers:
        """Return how much the receiver has acknowledged, never decreasing."""
        if not len(told.time_ns):
            return np.zeros(0, np.int64)
        acknowledged = self._unwrap(told.acknowledgment, self._acknowledged)
        return np.maximum.accumulate(np.maximum(acknowledged, self._acknowledged))

    def _add_segments(self, data: Columns, told: Columns, acknowledged: Integers) -> Sent:
        """Count segments, and measure round trips with the acknowledgments of the same time."""
        start = self._unwrap(data.sequence, self._high)
        highest = np.maximum.accumulate(np.concatenate(([self._high], start + data.size)))
        before, after = highest[:-1], highest[1:]
        is_odd = start != before
        goal = np.zeros(len(start), np.int64)
        fresh = np.stack((after[~is_odd], data.time_ns[~is_odd], data.identity[~is_odd]))
        self._identity = self._identity or int(data.identity[0]) if len(start) else self._identity
        if is_odd.any():
            rows = np.flatnonzero(is_odd)
            retransmitted = self._classify_odd(data, (start, before), rows, fresh)
            goal[retransmitted] = before[retransmitted]
        goal = np.maximum.accumulate(np.concatenate(([self._recover_until], goal)))
        reached = np.concatenate(([self._acknowledged], acknowledged))
        is_recovering = goal[1:] > reached[np.searchsorted(told.packet, data.packet)]
        is_sure = goal[np.searchsorted(data.packet, told.packet)] <= reached[:-1]
        self._measure(fresh, told.time_ns[is_sure], acknowledged[is_sure], reached[:-1][is_sure])
        self._recover_until = int(goal[-1])
        self.direction.segments += len(start)
        self.direction.bytes += int(highest[-1]) - self._high
        self._high = int(highest[-1])
        if len(start):
            self._last_ns = int(data.time_ns[-1])
            self._has_identities = bool(self._have_identities(data.identity)[-1])
        return Sent(data.time_ns, before, after, is_recovering)

    def _classify_odd(
        self, data: Columns, place: tuple[Integers, Integers], rows: Integers, fresh: Integers
    ) -> Integers:
        """Count odd segments; return which of them are retransmissions.

        Args:
            data: all segments.
            place: where each starts in the stream, and the highest byte sent before.
            rows: those that are odd.
            fresh: ends in the stream, times and identifications of the others.
        """
        ends, times_ns, identities = np.concatenate((self._unacknowledged, fresh), axis=1)
        stop = place[0][rows] + data.size[rows]
        same = np.searchsorted(ends, stop)
        is_known = np.append(ends, -1)[same] == stop
        first_ns = np.where(is_known, np.append(times_ns, 0)[same], LONG_AGO)
        before_ns = np.append(self._last_ns, data.time_ns)[rows]
        first = np.where(is_known, np.append(identities, 0)[same], 0)
        identity = np.where(self._have_identities(data.identity)[rows], data.identity[rows], 0)
        copies = _are_copies(identity, first)
        columns = (place[0][rows], stop, place[1][rows], data.time_ns[rows], before_ns, first_ns)
        numbers = (each.tolist() for each in columns)
        segments = zip(*numbers, copies, identity.tolist(), strict=True)
        is_again = [self._odd.classify(OddSegment._make(each)) for each in segments]
        return rows[is_again]

    def _have_identities(self, identity: Integers) -> npt.NDArray[np.bool_]:
        """Return from which packets on identifications tell: some systems give all the same."""
        return np.logical_or.accumulate((identity != self._identity) | self._has_identities)

    def _measure(
        self, fresh: Integers, time_ns: Integers, acknowledged: Integers, reached: Integers
    ) -> None:
        """Measure from segments to the first acknowledgment of their last byte.

        Args:
            fresh: ends in the stream, times and identifications of segments sent in order.
            time_ns: when acknowledgments were seen.
            acknowledged: what they acknowledge.
            reached: what had been acknowledged before each.
        """
        ends, sent_ns, _ = pending = np.concatenate((self._unacknowledged, fresh), axis=1)
        last = np.searchsorted(ends, acknowledged, "right") - 1
        is_covered = (acknowledged > reached) & (last >= 0)
        last, reached, time_ns = last[is_covered], reached[is_covered], time_ns[is_covered]
        rtt_ns = (time_ns - sent_ns[last])[ends[last] > reached]
        self.ack_rtt_ns.add(rtt_ns[rtt_ns >= 0])
        if len(acknowledged):
            pending = pending[:, np.searchsorted(ends, acknowledged[-1], "right") :]
        self._unacknowledged = pending[:, -_MOST_PENDING:]

    def _answers(self, told: Columns, acknowledged: Integers) -> Answers:
        """Return the acknowledgments that change what the sender may do."""
        if self.shift is None:
            edge = window = np.full(len(acknowledged), _FAR, np.int64)
        else:
            window = told.window << self.shift
            self._window.add(window)
            edge = np.maximum(np.maximum.accumulate(acknowledged + window), self._edge)
        is_news = np.ones(len(acknowledged), np.bool_)
        is_news[1:] = (acknowledged[1:] != acknowledged[:-1]) | (edge[1:] != edge[:-1])
        if len(edge):
            self._edge = int(edge[-1])
        return Answers(*(each[is_news] for each in (told.time_ns, acknowledged, edge, window)))

    def _note_closing(self, told: Columns) -> None:
        """Count how often the receiver closed its window, and for how long."""
        is_closed = told.window == 0
        was_closed = np.concatenate(([self._closed_since_ns is not None], is_closed[:-1]))
        for row in np.flatnonzero(is_closed != was_closed).tolist():
            time_ns = int(told.time_ns[row])
            if self._closed_since_ns is None:
                self.direction.zero_windows += 1
                self._closed_since_ns = time_ns
            else:
                self.direction.stalled_ns += time_ns - self._closed_since_ns
                self._closed_since_ns = None


def _are_copies(identity: Integers, first: Integers) -> list[bool | None]:
    """Return whether packets have the identification of the first ones; None if that is moot."""
    is_moot = (identity == 0) | (first == 0)
    return [
        None if moot else same
        for moot, same in zip(is_moot.tolist(), (identity == first).tolist(), strict=True)
    ]
