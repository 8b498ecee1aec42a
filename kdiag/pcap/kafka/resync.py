"""Finds the next frame by content, where no length leads to it.

That is so when a capture starts in the middle of a connection, or lost a length, or when a length
is absurd. Every offset is a candidate if it looks like a header (`frame_heuristics`), and
waits for its proof. The one whose proof comes first in the stream wins, so the result does not
depend on how many segments came at once.
"""

from bisect import bisect_left
from heapq import heapify, heappop, heappush, nsmallest
from typing import Final, NamedTuple

from kdiag.pcap.kafka.frame_heuristics import Candidate, FrameHeuristics, SearchedBytes, is_border
from kdiag.pcap.tcp.segments import Piece, Segments, first_packet

DEFAULT_MAX_SEARCH_BYTES: Final = 4 << 20

_PIECE_OVERHEAD_BYTES: Final = 256
_MAX_CANDIDATES: Final = 4096
_CANDIDATE_BYTES: Final = 200


class UnreadStart(NamedTuple):
    """The first of some bytes of which nothing can be made.

    Attributes:
        packet: the packet that brought them; 0 if there are none.
        data: those of it.
    """

    packet: int
    data: bytes

    def then(self, packet: int, data: bytes) -> "UnreadStart":
        """Return the start of these bytes and those that a packet brought behind them."""
        if not data or len(self.data) >= _START_BYTES:
            return self
        return UnreadStart(self.packet or packet, (self.data + data)[:_START_BYTES])


NO_START: Final = UnreadStart(0, b"")
_START_BYTES: Final = 16


class Found(NamedTuple):
    """The frame that a search ended with.

    Attributes:
        segments: the bytes from the frame's first one on.
        skipped_bytes: bytes of the stream before it.
        unread_bytes: those of them that are in the capture; nothing could be made of them.
        known: number of the packet that proved it.
        time_ns: when that was captured, since 1970.
        unread_start: the first of the bytes that nothing could be made of.
    """

    segments: Segments
    skipped_bytes: int
    unread_bytes: int
    known: int
    time_ns: int
    unread_start: UnreadStart


class FrameSearch:
    """Searches the bytes of a direction for a frame.

    Attributes:
        found: the frame; None until then.
        pieces: the kept bytes.
        last_ns: when the last bytes were captured, since 1970.
        unread_start: the first bytes that came.
    """

    def __init__(
        self, heuristics: FrameHeuristics, max_bytes: int, before: UnreadStart = NO_START
    ) -> None:
        """Search from the next byte on.

        Args:
            heuristics: recognise frames.
            max_bytes: how much to keep while searching, overhead included.
            before: bytes before that of which nothing could be made, either.
        """
        self.found: Found | None = None
        self.pieces: list[Piece] = []
        self.last_ns = 0
        self.unread_start = before
        self._heuristics = heuristics
        self._max_bytes = max_bytes
        self._dropped_bytes = 0
        self._dropped_unread = len(before.data)
        self._kept = SearchedBytes(bytearray(), [0], [])
        self._looked_at = 0
        self._candidates: list[Candidate] = []

    def unresolved_packet(self, oldest: int) -> int | None:
        """Return the first packet, from `oldest` on, that brought bytes kept."""
        return first_packet(self.pieces, oldest)

    @property
    def held_bytes(self) -> int:
        """Return what the kept bytes take: they are here twice, in pieces and in one that grows."""
        overhead = len(self.pieces) * _PIECE_OVERHEAD_BYTES
        return len(self._kept.data) * 5 // 2 + overhead + len(self._candidates) * _CANDIDATE_BYTES

    @property
    def unread_bytes(self) -> int:
        """Return how many bytes came, of which nothing could be made."""
        return self._dropped_unread + sum(len(piece.data) for piece in self.pieces)

    def add_segments(self, segments: Segments, first: int, last: int, known: int = 0) -> int:
        """Search the next bytes of the direction; return the segment after the last one read."""
        for row in range(first, last):
            self._keep(segments.piece(row))
            self.last_ns = segments.time_ns[row]
            self._look()
            place = self._proved()
            if place is not None:
                self._end(place, max(known, segments.packet[row]))
                return row + 1
        return last

    def pass_over(self, piece: Piece) -> None:
        """Start afresh behind the next bytes."""
        self.unread_start = self.unread_start.then(piece.packet, piece.data)
        self._drop(len(self.pieces))
        self._dropped_bytes += piece.size
        self._dropped_unread += len(piece.data)

    def flush(self) -> None:
        """Accept a candidate that nothing but the end of the stream leaves without proof."""
        for candidate in sorted(self._candidates, key=lambda each: each.start):
            if candidate.stop > len(self._kept.data):
                continue
            if self._heuristics.proof(self._kept, candidate, is_over=True) > 0:
                self._end(candidate.start, self.pieces[-1].packet)
                return

    def _end(self, place: int, known: int) -> None:
        """Stop searching: a frame starts at `place`."""
        first = bisect_left(self._kept.edges, place + 1) - 1
        skip = place - self._kept.edges[first]
        pieces = self.pieces[first:]
        pieces[0] = pieces[0].part(skip, pieces[0].size)
        unread = self.unread_bytes - sum(len(piece.data) for piece in pieces)
        segments = Segments.of_pieces(pieces)
        skipped = self._dropped_bytes + place
        self.found = Found(segments, skipped, unread, known, self.last_ns, self.unread_start)

    def _keep(self, piece: Piece) -> None:
        """Keep a piece; bytes that it lacks are zeros, which look like nothing."""
        if piece.size > self._max_bytes:
            self.pass_over(piece)
            return
        self.unread_start = self.unread_start.then(piece.packet, piece.data)
        self.pieces.append(piece)
        self._kept.data.extend(piece.data)
        if len(piece.data) < piece.size:
            self._kept.holes.append(len(self._kept.data))
            self._kept.data.extend(bytes(piece.size - len(piece.data)))
        self._kept.edges.append(len(self._kept.data))
        if len(self._kept.data) + len(self.pieces) * _PIECE_OVERHEAD_BYTES > self._max_bytes:
            self._drop((len(self.pieces) + 1) // 2)

    def _drop(self, count: int) -> None:
        """Forget the first pieces and the candidates that start in them."""
        size = self._kept.edges[count]
        self._dropped_unread += sum(len(piece.data) for piece in self.pieces[:count])
        del self.pieces[:count]
        del self._kept.data[:size]
        self._kept.edges[:] = [edge - size for edge in self._kept.edges[count:]]
        self._kept.holes[:] = [hole - size for hole in self._kept.holes if hole >= size]
        self._dropped_bytes += size
        self._looked_at = max(0, self._looked_at - size)
        self._candidates = [each.moved(-size) for each in self._candidates if each.start >= size]
        heapify(self._candidates)

    def _look(self) -> None:
        """Find candidates among the places that were not looked at."""
        stop = len(self._kept.data) - self._heuristics.head_bytes() + 1
        if stop <= self._looked_at:
            return
        low = bisect_left(self._kept.edges, self._looked_at)
        aligned = set(self._kept.edges[low : bisect_left(self._kept.edges, stop)])
        places = self._heuristics.places(self._kept.data, self._looked_at, stop)
        for place in sorted(aligned.union(places)):
            candidate = self._heuristics.candidate(
                self._kept.data, place, is_aligned=place in aligned
            )
            if candidate is not None and not candidate.ready:
                stop = place
                break
            if candidate is not None:
                self._await(candidate)
        self._looked_at = stop

    def _await(self, candidate: Candidate) -> None:
        """Keep a candidate until it can be proved; if there are too many, the nearest ones."""
        heappush(self._candidates, candidate)
        if len(self._candidates) > _MAX_CANDIDATES:
            self._candidates = nsmallest(_MAX_CANDIDATES // 2, self._candidates)

    def _proved(self) -> int | None:
        """Return the start of the candidate whose proof ends first, if one is proved."""
        size = len(self._kept.data)
        proved: list[tuple[int, int]] = []
        while self._candidates and self._candidates[0].ready <= size:
            candidate = heappop(self._candidates)
            if self._is_bordered(candidate):
                proved.append((candidate.stop, candidate.start))
                continue
            end = self._heuristics.proof(self._kept, candidate, is_over=False)
            if end < 0:
                heappush(self._candidates, candidate._replace(ready=-end))
            elif end:
                proved.append((end, candidate.start))
        return min(proved)[1] if proved else None

    def _is_bordered(self, candidate: Candidate) -> bool:
        """Return whether the borders of segments prove a candidate."""
        return all(
            is_border(self._kept.edges, place) for place in (candidate.start, candidate.stop)
        ) and self._heuristics.stands_alone(self._kept, candidate)
