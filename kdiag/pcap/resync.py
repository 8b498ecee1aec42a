"""Finds the next frame by content, where no length tells its place.

That is so when a capture starts in the middle of a connection, or lost a length, or when a length
is absurd. Every offset is a candidate if it looks like a header; arrays of small integers look
like one very often, so a candidate needs proof beside its looks:

* the header that follows at its end belongs to the same client (request), or repeats the
  correlation id of an outstanding request (response); or
* it starts where a segment starts and ends where a segment ends; or
* it ends where the stream ends.

A request must name its client, and a client that was seen on the connection before if there is
one, with a correlation id soon after the last. A response must repeat the id of an outstanding
request; one that starts with a segment may have any id if an outstanding one follows it, for its
request may have been lost. The candidate whose proof comes first in the stream wins, so the
result does not depend on how many segments came at once.
"""

from bisect import bisect_left
from heapq import heapify, heappop, heappush
from struct import Struct
from typing import Final, NamedTuple, Protocol

import numpy as np

from kdiag.pcap.plausible import Likeness, is_whole_request, request_likeness
from kdiag.pcap.response_walk import LARGEST_ID_STEP
from kdiag.pcap.segments import Piece, Segments, first_packet
from kdiag.wire.frame import LENGTH_BYTES
from kdiag.wire.header import REQUEST_START

DEFAULT_MAX_SEARCH_BYTES: Final = 4 << 20

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_PIECE_OVERHEAD_BYTES: Final = 256
_KEY: Final = LENGTH_BYTES
_VERSION: Final = LENGTH_BYTES + 2
_CLIENT_ID_LENGTH: Final = LENGTH_BYTES + REQUEST_START.size
_CLIENT_ID: Final = _CLIENT_ID_LENGTH + 2
_LARGEST_CLIENT_ID: Final = 255
_LARGEST_VERSION: Final = 31
_LARGEST_KEY: Final = 127
_FIRST_PRINTABLE: Final = 0x20
_LARGEST_STEP: Final = 100_000
_RESPONSE_HEAD: Final = LENGTH_BYTES + _INT32.size
_MAX_CANDIDATES: Final = 4096


class Candidate(NamedTuple):
    """A place that looks like a frame.

    Attributes:
        stop: where it ends, in the searched bytes; 0 if more bytes must tell.
        start: where its length is.
        mark: what its successor must agree with: the client id of a request; of a response,
            whether it repeats the id of an outstanding request.
    """

    stop: int
    start: int
    mark: bytes


class Looks(Protocol):
    """How frames of one direction look."""

    def head_bytes(self) -> int:
        """Return how many bytes tell that a frame does not start somewhere."""
        ...

    def places(self, data: bytearray, start: int, stop: int) -> list[int]:
        """Return the places from `start` to `stop` that a closer look is worth."""
        ...

    def candidate(self, data: bytearray, place: int, *, is_aligned: bool) -> Candidate | None:
        """Return the frame that seems to start at a place; if any."""
        ...

    def stands_alone(self, candidate: Candidate) -> bool:
        """Return whether the borders of segments prove a candidate."""
        ...

    def proof(self, data: bytearray, candidate: Candidate) -> int | None:
        """Return where the proof by the next frame ends; 0 if there is none, None if not yet."""
        ...


class RequestLooks:
    """How requests look."""

    def __init__(
        self, max_frame_bytes: int, client_ids: set[bytes], last_correlation_id: int | None = None
    ) -> None:
        """Look for the requests of a connection.

        Args:
            max_frame_bytes: the largest frame there can be.
            client_ids: those seen on the connection; empty if none was.
            last_correlation_id: that of the last request before, if one was seen.
        """
        self._max_frame_bytes = max_frame_bytes
        self._client_ids = client_ids
        self._last = last_correlation_id

    def head_bytes(self) -> int:
        """Return the bytes up to the first letter of the client id."""
        return _CLIENT_ID + 1

    def places(self, data: bytearray, start: int, stop: int) -> list[int]:
        """Return where a known key, a version and a client id may be."""
        size = stop - start
        column = np.frombuffer(data, np.uint8)[start : stop + _CLIENT_ID]

        def at(offset: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
            return column[offset : offset + size]

        looks = at(_KEY) == 0
        looks &= at(_KEY + 1) <= _LARGEST_KEY
        looks &= at(_VERSION) == 0
        looks &= at(_VERSION + 1) <= _LARGEST_VERSION
        looks &= at(_CLIENT_ID_LENGTH) == 0
        looks &= at(_CLIENT_ID_LENGTH + 1) > 0
        looks &= at(_CLIENT_ID) >= _FIRST_PRINTABLE
        found: list[int] = (np.flatnonzero(looks) + start).tolist()
        return found

    def candidate(self, data: bytearray, place: int, *, is_aligned: bool) -> Candidate | None:
        """Return the request that seems to start at a place."""
        (size,) = _INT32.unpack_from(data, place)
        if not 0 < size <= self._max_frame_bytes:
            return None
        stop = place + LENGTH_BYTES + size
        (length,) = _INT16.unpack_from(data, place + _CLIENT_ID_LENGTH)
        start = place + _CLIENT_ID
        client_id = bytes(data[start : start + max(length, 0)])
        if 0 < len(client_id) < length <= _LARGEST_CLIENT_ID:
            return Candidate(0, place, b"")
        head = bytes(data[place + LENGTH_BYTES : start]) + client_id
        likeness = request_likeness(head, size)
        if likeness is Likeness.WEAK and is_aligned and not self._client_ids:
            return Candidate(stop, place, b"")
        if likeness is not Likeness.STRONG or not self._is_expected(head, client_id):
            return None
        return Candidate(stop, place, client_id)

    def _is_expected(self, head: bytes, client_id: bytes) -> bool:
        """Return whether a request fits those seen before."""
        if self._client_ids and client_id not in self._client_ids:
            return False
        _, _, correlation_id = REQUEST_START.unpack_from(head)
        return self._last is None or 0 < correlation_id - self._last <= _LARGEST_STEP

    def stands_alone(self, candidate: Candidate) -> bool:
        """Return whether there is a client id: one at the start of a segment is no accident."""
        return bool(candidate.mark)

    def proof(self, data: bytearray, candidate: Candidate) -> int | None:
        """Look for a request of the same client where the candidate ends.

        A candidate without a client id must be a request to its last byte instead.
        """
        at = candidate.stop
        if not candidate.mark:
            frame = bytes(data[candidate.start + LENGTH_BYTES : at])
            return at if is_whole_request(frame) else 0
        end = at + _CLIENT_ID + len(candidate.mark)
        if len(data) < end:
            return None
        (size,) = _INT32.unpack_from(data, at)
        is_same = data[at + _CLIENT_ID_LENGTH + 1] == len(candidate.mark)
        is_same = is_same and data[at + _CLIENT_ID : end] == candidate.mark
        is_frame = 0 < size <= self._max_frame_bytes
        head = bytes(data[at + LENGTH_BYTES : end])
        is_strong = is_same and is_frame and request_likeness(head, size) is Likeness.STRONG
        return end if is_strong else 0


class ResponseLooks:
    """How responses look."""

    def __init__(
        self, max_frame_bytes: int, outstanding: set[int], *, is_lone: bool = False
    ) -> None:
        """Look for the responses of a connection.

        Args:
            max_frame_bytes: the largest frame there can be.
            outstanding: correlation ids of the requests seen; the caller adds to it.
            is_lone: whether the capture has no requests, so that ids that grow must do.
        """
        self._max_frame_bytes = max_frame_bytes
        self._outstanding = outstanding
        self._is_lone = is_lone

    def head_bytes(self) -> int:
        """Return the bytes up to the end of the correlation id."""
        return _RESPONSE_HEAD

    def places(self, data: bytearray, start: int, stop: int) -> list[int]:
        """Return where the correlation id of an outstanding request may be."""
        size = stop - start
        column = np.frombuffer(data, np.uint8)[start + LENGTH_BYTES : stop + _RESPONSE_HEAD]
        number = np.zeros(size, np.int32)
        for byte in range(_INT32.size):
            number = (number << 8) | column[byte : byte + size]
        wanted = np.fromiter(self._outstanding, np.int32, len(self._outstanding))
        found: list[int] = (np.flatnonzero(np.isin(number, wanted)) + start).tolist()
        return found

    def candidate(self, data: bytearray, place: int, *, is_aligned: bool) -> Candidate | None:
        """Return the response that seems to start at a place."""
        size, correlation_id = _two_numbers(data, place)
        if not _INT32.size <= size <= self._max_frame_bytes:
            return None
        is_outstanding = correlation_id in self._outstanding
        if not is_outstanding and not (is_aligned and correlation_id >= 0):
            return None
        return Candidate(place + LENGTH_BYTES + size, place, b"+" if is_outstanding else b"")

    def stands_alone(self, candidate: Candidate) -> bool:
        """Return whether the response repeats the id of an outstanding request."""
        return bool(candidate.mark)

    def proof(self, data: bytearray, candidate: Candidate) -> int | None:
        """Look for a response to an outstanding request where the candidate ends."""
        end = candidate.stop + _RESPONSE_HEAD
        if len(data) < end:
            return None
        size, correlation_id = _two_numbers(data, candidate.stop)
        is_expected = correlation_id in self._outstanding
        if self._is_lone:
            _, before = _two_numbers(data, candidate.start)
            is_expected = 0 < correlation_id - before <= LARGEST_ID_STEP
        is_frame = _INT32.size <= size <= self._max_frame_bytes
        return end if is_frame and is_expected else 0


def _two_numbers(data: bytearray, at: int) -> tuple[int, int]:
    """Return the two 32-bit integers at a place."""
    return _INT32.unpack_from(data, at)[0], _INT32.unpack_from(data, at + _INT32.size)[0]


class Found(NamedTuple):
    """The frame that a search ended with.

    Attributes:
        segments: the frame's first byte and all that was taken after it.
        skipped_bytes: bytes of the stream before it.
        unread_bytes: those of them that are in the capture; nothing could be made of them.
        known: number of the packet that proved it.
    """

    segments: Segments
    skipped_bytes: int
    unread_bytes: int
    known: int


class Search:
    """Takes the bytes of a direction until a frame is found in them.

    Attributes:
        found: the frame; None until then.
        pieces: what is kept.
    """

    def __init__(self, looks: Looks, max_bytes: int) -> None:
        """Search from the next byte on.

        Args:
            looks: how the frames look.
            max_bytes: how much to keep while searching, with what keeping costs.
        """
        self.found: Found | None = None
        self.pieces: list[Piece] = []
        self._looks = looks
        self._max_bytes = max_bytes
        self._dropped_bytes = 0
        self._dropped_unread = 0
        self._edges = [0]
        self._data = bytearray()
        self._looked_at = 0
        self._candidates: list[Candidate] = []

    def unresolved_packet(self, oldest: int) -> int | None:
        """Return the first packet, from `oldest` on, that brought bytes kept."""
        return first_packet(self.pieces, oldest)

    @property
    def unread_bytes(self) -> int:
        """Return how many bytes came, of which nothing could be made."""
        return self._dropped_unread + sum(len(piece.data) for piece in self.pieces)

    def take(self, segments: Segments, first: int, last: int, known: int = 0) -> int:
        """Search the next bytes of the direction; return the segment after the last one needed."""
        for row in range(first, last):
            self._keep(segments.piece(row))
            self._look()
            place = self._proved()
            if place is not None:
                self._end(place, max(known, segments.packet[row]))
                return row + 1
        return last

    def pass_over(self, size: int, unread: int) -> None:
        """Start afresh behind the next `size` bytes, of which `unread` are in the capture."""
        self._drop(len(self.pieces))
        self._dropped_bytes += size
        self._dropped_unread += unread

    def finish(self) -> None:
        """Accept a candidate that ends where the stream ends, if there is one."""
        for candidate in sorted(self._candidates, key=lambda each: each.start):
            if candidate.stop == self._edges[-1] and self._looks.stands_alone(candidate):
                self._end(candidate.start, self.pieces[-1].packet)
                return

    def _end(self, place: int, known: int) -> None:
        """Stop searching: a frame starts at `place`."""
        first = bisect_left(self._edges, place + 1) - 1
        skip = place - self._edges[first]
        pieces = self.pieces[first:]
        pieces[0] = pieces[0].part(skip, pieces[0].size)
        unread = self.unread_bytes - sum(len(piece.data) for piece in pieces)
        segments = Segments.of_pieces(pieces)
        self.found = Found(segments, self._dropped_bytes + place, unread, known)

    def _keep(self, piece: Piece) -> None:
        """Keep a piece; bytes that it lacks are zeros, which look like nothing."""
        if piece.size > self._max_bytes:
            self.pass_over(piece.size, len(piece.data))
            return
        self.pieces.append(piece)
        self._data += piece.data
        self._data += bytes(piece.size - len(piece.data))
        self._edges.append(len(self._data))
        if len(self._data) + len(self.pieces) * _PIECE_OVERHEAD_BYTES > self._max_bytes:
            self._drop((len(self.pieces) + 1) // 2)

    def _drop(self, count: int) -> None:
        """Forget the first pieces and the candidates that start in them."""
        size = self._edges[count]
        self._dropped_unread += sum(len(piece.data) for piece in self.pieces[:count])
        del self.pieces[:count]
        del self._data[:size]
        self._edges = [edge - size for edge in self._edges[count:]]
        self._dropped_bytes += size
        self._looked_at = max(0, self._looked_at - size)
        self._candidates = [
            Candidate(each.stop - size, each.start - size, each.mark)
            for each in self._candidates
            if each.start >= size
        ]
        heapify(self._candidates)

    def _look(self) -> None:
        """Find candidates among the places that were not looked at."""
        stop = len(self._data) - self._looks.head_bytes() + 1
        if stop <= self._looked_at:
            return
        low = bisect_left(self._edges, self._looked_at)
        aligned = set(self._edges[low : bisect_left(self._edges, stop)])
        places = self._looks.places(self._data, self._looked_at, stop)
        for place in sorted(aligned.union(places)):
            candidate = self._looks.candidate(self._data, place, is_aligned=place in aligned)
            if candidate is not None and not candidate.stop:
                stop = place
                break
            if candidate is not None and len(self._candidates) < _MAX_CANDIDATES:
                heappush(self._candidates, candidate)
        self._looked_at = stop

    def _proved(self) -> int | None:
        """Return the start of the candidate whose proof ends first, if one is proved."""
        size = len(self._data)
        proved: list[tuple[int, int]] = []
        undecided = []
        while self._candidates and self._candidates[0].stop <= size:
            candidate = heappop(self._candidates)
            if self._is_bordered(candidate):
                proved.append((candidate.stop, candidate.start))
                continue
            end = self._looks.proof(self._data, candidate)
            if end is None:
                undecided.append(candidate)
            elif end:
                proved.append((end, candidate.start))
        for candidate in undecided:
            heappush(self._candidates, candidate)
        return min(proved)[1] if proved else None

    def _is_bordered(self, candidate: Candidate) -> bool:
        """Return whether a candidate starts with a segment and ends with one."""
        at, to = (bisect_left(self._edges, each) for each in (candidate.start, candidate.stop))
        return (
            self._edges[at] == candidate.start
            and self._edges[to] == candidate.stop
            and self._looks.stands_alone(candidate)
        )
