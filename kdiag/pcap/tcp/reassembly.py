"""Reassembly of one TCP direction: segments in the order of capture -> bytes in order, or holes.

How it works. The direction knows which sequence number comes next and its offset in the stream,
from 0 at the first byte. A segment that starts there is passed on as it lies in the block. One
that starts later waits, copied, until what is before it has come. What arrived first counts: of a
segment that overlaps others, only what is new is taken. Sequence numbers are compared modulo
2**32, so that they may wrap around.

    expected 100; segment 160-200 waits; segment 100-170 gives 100-160 and lets 160-200 follow

A hole becomes a gap only when nothing can fill it any more: the other end acknowledged it and
later bytes wait, so the capture lost what the network did not; or too many bytes wait; or the
connection or the capture ends. That the other end *spoke* proves nothing.

Source: RFC 9293 (sections 3.4 sequence numbers, 3.8.4 keep-alives, 3.8.6.1 zero-window probes).
"""

from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter
from typing import Final, NamedTuple, Protocol

from kdiag.pcap.tcp.segments import Piece, Segments, first_packet

DEFAULT_MAX_WAITING_BYTES: Final = 16 << 20

_MODULUS: Final = 1 << 32
_HALF: Final = 1 << 31
LARGEST_WINDOW: Final = 1 << 30  # RFC 7323: nothing valid is further away than this
_PIECE_OVERHEAD_BYTES: Final = 256
_STOP = attrgetter("stop")


class ByteConsumer(Protocol):
    """Reads the bytes of one direction, in order."""

    def add_segments(self, segments: Segments, first: int, last: int, known: int = 0) -> None:
        """Read the contiguous run of segments that comes next.

        Args:
            segments: where the run lies; the memory is valid during the call only.
            first: the first of them.
            last: the one after the last.
            known: the packet that made them known, where it is not the one that brought them.
        """
        ...


class Nobody:
    """Reads nothing, and ignores holes."""

    def add_segments(self, segments: Segments, first: int, last: int, known: int = 0) -> None:
        """Pass over the bytes."""

    def note_gap(self, reassembly: "Reassembly", size: int, moment: "Moment", reason: str) -> None:
        """Ignore a hole in a direction that has ended."""


class Moment(NamedTuple):
    """A packet as a point in time."""

    packet: int
    time_ns: int


class GapListener(Protocol):
    """Learns of the holes of a direction."""

    def note_gap(self, reassembly: "Reassembly", size: int, moment: Moment, reason: str) -> None:
        """Note a hole before it is passed on."""
        ...


class Recording(Protocol):
    """Answers about all packets of a capture, for a decoder that is fed some connections."""

    def first_after(self, packet: int, time_ns: int) -> Moment | None:
        """Return the first TCP segment behind a packet that is later than a time, if any is."""
        ...

    def last(self) -> Moment:
        """Return the last TCP segment of all."""
        ...

    def lag_ns(self, packet: int) -> int:
        """Return how much earlier than another before it a packet can be, by the clock."""
        ...


class WaitingBytes(NamedTuple):
    """Bytes that came before their predecessors, from `start` to `stop` of the stream."""

    start: int
    stop: int
    piece: Piece


class Reassembly:
    """Puts the segments of one direction in order and passes them to a consumer.

    Attributes:
        consumer: reads the bytes; the owner may replace it at any time.
        first_sequence: the initial sequence number, where a SYN was seen.
        next_sequence: the next expected sequence number; None before anything was seen.
        offset: how many bytes of the stream were passed on, holes included.
        duplicates: segments that carried nothing new (keep-alive probes are not counted).
        overlap_mismatches: bytes that waited and came again with another content, in segments.
        stray_segments: segments too far from the expected one to belong to this stream.
        gap_count, gap_bytes: the holes that were given up, and their size.
    """

    __slots__ = (
        "_acknowledged",
        "_end",
        "_gaps",
        "_max_waiting_bytes",
        "_waiting",
        "_waiting_bytes",
        "consumer",
        "duplicates",
        "first_sequence",
        "gap_bytes",
        "gap_count",
        "next_sequence",
        "offset",
        "overlap_mismatches",
        "stray_segments",
    )

    def __init__(
        self,
        consumer: ByteConsumer,
        gaps: GapListener,
        max_waiting_bytes: int = DEFAULT_MAX_WAITING_BYTES,
    ) -> None:
        """Start before the first segment.

        Args:
            consumer: reads the bytes.
            gaps: learns of holes before they are passed on.
            max_waiting_bytes: how many bytes may wait, with what storing them costs.
        """
        self.consumer = consumer
        self.first_sequence: int | None = None
        self.next_sequence: int | None = None
        self.offset = 0
        self.duplicates = 0
        self.overlap_mismatches = 0
        self.stray_segments = 0
        self.gap_count = 0
        self.gap_bytes = 0
        self._gaps = gaps
        self._max_waiting_bytes = max_waiting_bytes
        self._waiting: list[WaitingBytes] = []
        self._waiting_bytes = 0
        self._acknowledged = 0
        self._end: int | None = None

    @property
    def is_straight(self) -> bool:
        """Return whether nothing waits and no FIN was seen: more bytes in order are likely."""
        return not self._waiting and self._end is None

    @property
    def is_finished(self) -> bool:
        """Return whether all bytes up to the FIN have been passed on."""
        return self._end is not None and self.offset >= self._end

    @property
    def is_settled(self) -> bool:
        """Return whether `flush` would pass nothing on."""
        return not self._waiting and (self._end is None or self._end <= self.offset)

    @property
    def is_tail_lost(self) -> bool:
        """Return whether the other end acknowledged more bytes than came, and a FIN."""
        return self._acknowledged > max(self.offset, self._end or 0) + 1

    @property
    def held_bytes(self) -> int:
        """Return what the waiting bytes take."""
        return self._waiting_bytes

    def unresolved_packet(self, oldest: int) -> int | None:
        """Return the first packet, from `oldest` on, whose bytes wait."""
        return first_packet((each.piece for each in self._waiting), oldest)

    def handle_syn(self, sequence: int) -> None:
        """Read the initial sequence number of a SYN; the first byte has the next number."""
        if self.first_sequence is None and self.offset == 0:
            self.first_sequence = sequence
            self.next_sequence = (sequence + 1) % _MODULUS

    def expect(self, sequence: int) -> None:
        """Learn the number of the first byte from the other end's acknowledgment."""
        if self.next_sequence is None:
            self.next_sequence = sequence

    def reaches(self, sequence: int, window: int) -> bool:
        """Return whether a number lies within a window of the bytes seen or acknowledged."""
        if self.next_sequence is None or sequence == self.next_sequence:
            return True
        away = distance(self.next_sequence, sequence)
        if away < 0:
            return -away <= max(window, min(self.offset, LARGEST_WINDOW))
        if away <= window:
            return True
        top = self._waiting[-1].stop if self._waiting else 0
        return away <= max(top, self._acknowledged) - self.offset + window

    def is_behind(self, sequence: int) -> bool:
        """Return whether a number lies before the next one."""
        return self.next_sequence is not None and distance(self.next_sequence, sequence) < 0

    def lacks(self, sequence: int, most: int = LARGEST_WINDOW) -> bool:
        """Return whether a number that is not reached may be that of bytes up to `most` later."""
        if self.next_sequence is None:
            return False
        return 0 < distance(self.next_sequence, sequence) <= min(most, LARGEST_WINDOW)

    def add_run(self, segments: Segments, first: int, last: int) -> None:
        """Pass on a contiguous run that starts at the next expected byte, while nothing waits."""
        assert self.next_sequence is not None
        size = segments.edge[last] - segments.edge[first]
        self.offset += size
        self.next_sequence = (self.next_sequence + size) % _MODULUS
        self.consumer.add_segments(segments, first, last)

    def add_segment(self, segments: Segments, index: int, sequence: int) -> None:
        """Add one segment, wherever in the stream its bytes belong.

        Args:
            segments: where it lies.
            index: which one.
            sequence: the sequence number of its first byte.
        """
        if self.next_sequence is None:
            self.next_sequence = sequence
        if sequence == self.next_sequence and not self._waiting:
            self.add_run(segments, index, index + 1)
            return
        away = distance(self.next_sequence, sequence)
        start = self.offset + away
        stop = start + segments.edge[index + 1] - segments.edge[index]
        if abs(away) > LARGEST_WINDOW:
            self.stray_segments += 1
        elif stop <= self.offset:
            is_probe = stop - start == 1 and stop == self.offset
            self.duplicates += not is_probe
        else:
            self._wait(start, stop, segments.piece(index))
            moment = Moment(segments.packet[index], segments.time_ns[index])
            self._release(moment)
            self._give_up(moment)

    def has_passed_on(self, sequence: int, size: int) -> bool:
        """Return whether bytes were passed on, and nothing waits that they could contradict."""
        if self.next_sequence is None or self._waiting:
            return False
        return -LARGEST_WINDOW <= distance(self.next_sequence, sequence) <= -size

    def handle_acknowledgment(self, sequence: int, moment: Moment) -> None:
        """Handle the other end's acknowledgment: all before `sequence` has reached it."""
        if self.next_sequence is None:
            return
        away = distance(self.next_sequence, sequence)
        if abs(away) <= LARGEST_WINDOW:
            self._acknowledged = max(self._acknowledged, self.offset + away)
            if self._waiting:
                self._give_up(moment)

    def handle_fin(self, sequence: int) -> None:
        """Handle a FIN: the stream ends before its sequence number."""
        if self.next_sequence is None:
            self.next_sequence = sequence
        away = distance(self.next_sequence, sequence)
        if self._end is None and 0 <= away <= LARGEST_WINDOW:
            self._end = self.offset + away

    def flush(self, moment: Moment, reason: str) -> None:
        """Pass on the waiting segments, with gaps: nothing more will come."""
        while self._waiting:
            self._declare(self._waiting[0].start - self.offset, moment, reason)
            self._release(moment)
        if self._end is not None and self._end > self.offset:
            self._declare(self._end - self.offset, moment, reason)

    def let_go(self) -> None:
        """Let go of the consumer and of the listener: no more bytes will come."""
        self._gaps = self.consumer = Nobody()

    def _wait(self, start: int, stop: int, piece: Piece) -> None:
        """Keep the new bytes of a segment that covers `start` to `stop` of the stream."""
        if start >= self.offset and (not self._waiting or start >= self._waiting[-1].stop):
            self._waiting.append(WaitingBytes(start, stop, piece))
            self._waiting_bytes += len(piece.data) + _PIECE_OVERHEAD_BYTES
            return
        is_new = False
        for low, high in list(self._uncovered(max(start, self.offset), stop)):
            is_new = True
            new = WaitingBytes(low, high, piece.part(low - start, high - start))
            self._waiting.insert(bisect_left(self._waiting, high, key=_STOP), new)
            self._waiting_bytes += len(new.piece.data) + _PIECE_OVERHEAD_BYTES
        self.duplicates += not is_new
        self.overlap_mismatches += self._is_other(start, stop, piece)

    def _uncovered(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield the parts of `start` to `stop` that nothing which waits covers."""
        at = bisect_left(self._waiting, start + 1, key=_STOP)
        while at < len(self._waiting) and self._waiting[at].start < stop:
            if start < self._waiting[at].start:
                yield start, self._waiting[at].start
            start = self._waiting[at].stop
            at += 1
        if start < stop:
            yield start, stop

    def _is_other(self, start: int, stop: int, piece: Piece) -> bool:
        """Return whether the segment contradicts bytes that wait."""
        at = bisect_left(self._waiting, start + 1, key=_STOP)
        while at < len(self._waiting) and self._waiting[at].start < stop:
            each = self._waiting[at]
            low = max(start, each.start)
            here = piece.data[low - start :]
            there = each.piece.data[low - each.start :]
            size = min(len(here), len(there))
            if here[:size] != there[:size]:
                return True
            at += 1
        return False

    def _release(self, moment: Moment) -> None:
        """Pass on the waiting segments that are next."""
        count, stop = 0, self.offset
        while count < len(self._waiting) and self._waiting[count].start == stop:
            stop = self._waiting[count].stop
            count += 1
        if not count:
            return
        pieces = [each.piece for each in self._waiting[:count]]
        del self._waiting[:count]
        self._waiting_bytes -= sum(len(each.data) + _PIECE_OVERHEAD_BYTES for each in pieces)
        self._pass_on(Segments.of_pieces(pieces), moment.packet)

    def _give_up(self, moment: Moment) -> None:
        """Declare the holes that nothing can fill any more."""
        while self._waiting:
            start = self._waiting[0].start
            if self._acknowledged >= start:
                reason = "the other end acknowledged bytes that the capture lacks"
            elif self._waiting_bytes > self._max_waiting_bytes:
                reason = f"more than {self._max_waiting_bytes} bytes wait behind it"
            else:
                return
            self._declare(start - self.offset, moment, reason)
            self._release(moment)

    def _declare(self, size: int, moment: Moment, reason: str) -> None:
        """Pass on a hole of `size` bytes as a gap."""
        self.gap_count += 1
        self.gap_bytes += size
        self._gaps.note_gap(self, size, moment, reason)
        after = self._waiting[0].piece if self._waiting else moment
        self._pass_on(Segments.hole(size, after.packet, after.time_ns), moment.packet)

    def _pass_on(self, segments: Segments, known: int) -> None:
        """Pass on whole segments that come next."""
        assert self.next_sequence is not None
        size = segments.edge[-1]
        self.offset += size
        self.next_sequence = (self.next_sequence + size) % _MODULUS
        self.consumer.add_segments(segments, 0, len(segments.packet), known)


def distance(origin: int, sequence: int) -> int:
    """Return how far a sequence number is after `origin`; negative if it is before."""
    return (sequence - origin + _HALF) % _MODULUS - _HALF
