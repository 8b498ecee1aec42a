"""How requests and responses look among other bytes, and what proves that they are some.

Arrays of small integers look like a header very often, so a candidate needs proof beside its
looks:

* request: another one of the same client follows, or it starts and ends where segments start and
  end. It must name its client, the one that was seen on the connection if one was, with a
  correlation id soon after the last. Without a name it must be a request to its last byte.
* response: it repeats the id of an outstanding request, and so do the two that follow with the next
  ids; one is enough if segments start with both, or start with the first and end with the other.
  Its own request may be lost if segments start with it and them. Where the capture has no requests
  at all, three in a row with ids that grow must start with segments.
* At the end of the stream what would follow need not.
"""

from bisect import bisect_left
from struct import Struct
from typing import Final, NamedTuple, Protocol

import numpy as np

from kdiag.pcap.plausible import Likeness, is_whole_request, request_likeness
from kdiag.pcap.response_walk import LARGEST_ID_STEP
from kdiag.wire.frame import LENGTH_BYTES
from kdiag.wire.header import REQUEST_START

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
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
_SUCCESSORS: Final = 2
_MAX_UNANSWERED_BETWEEN: Final = 8  # requests with acks=0 get no response


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


def is_border(edges: list[int], place: int) -> bool:
    """Return whether a segment starts or ends at a place."""
    at = bisect_left(edges, place)
    return at < len(edges) and edges[at] == place


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
        """Return whether the borders of segments prove a candidate that starts and ends there."""
        ...

    def proof(
        self, data: bytearray, candidate: Candidate, edges: list[int], *, is_over: bool
    ) -> int | None:
        """Return where the proof by what follows ends; 0 if there is none, None if not yet.

        Args:
            data: the searched bytes, zeros where some are missing.
            candidate: which of them.
            edges: where segments start in them, and where the last one ends.
            is_over: whether no more bytes will come.
        """
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

    def proof(
        self, data: bytearray, candidate: Candidate, edges: list[int], *, is_over: bool
    ) -> int | None:
        """Look for a request of the same client where the candidate ends.

        A candidate without a client id must be a request to its last byte instead.
        """
        at = candidate.stop
        if not candidate.mark:
            frame = bytes(data[candidate.start + LENGTH_BYTES : at])
            return at if is_border(edges, at) and is_whole_request(frame) else 0
        if is_over and at == len(data):
            return at
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
        """Return false: four bytes of an id are no proof."""
        del candidate
        return False

    def proof(
        self, data: bytearray, candidate: Candidate, edges: list[int], *, is_over: bool
    ) -> int | None:
        """Look for the responses that must follow the candidate."""
        at, end = candidate.stop, candidate.stop
        _, before = _two_numbers(data, candidate.start)
        for _ in range(_SUCCESSORS):
            if is_over and at == len(data):
                return at if candidate.mark or at > candidate.stop else 0
            if len(data) < at + _RESPONSE_HEAD:
                return None
            size, correlation_id = _two_numbers(data, at)
            is_near = 0 < correlation_id - before <= LARGEST_ID_STEP
            is_frame = is_near and _INT32.size <= size <= self._max_frame_bytes
            if not is_frame or not self._may_follow(candidate, before, correlation_id):
                return 0
            if not candidate.mark and not is_border(edges, at):
                return 0
            end, before, at = at + _RESPONSE_HEAD, correlation_id, at + LENGTH_BYTES + size
            if self._is_enough(candidate, edges, at):
                return end
        return end

    def _is_enough(self, candidate: Candidate, edges: list[int], end: int) -> bool:
        """Return whether one successor, which ends at `end`, is enough.

        It is where segments start with both frames, or start with the first and end with the other.
        """
        starts = not self._is_lone and is_border(edges, candidate.start)
        return starts and (is_border(edges, candidate.stop) or is_border(edges, end))

    def _may_follow(self, candidate: Candidate, before: int, correlation_id: int) -> bool:
        """Return whether the responses with these two ids may be neighbours."""
        if self._is_lone:
            return True
        if not candidate.mark:
            return correlation_id in self._outstanding
        between = sum(before < each < correlation_id for each in self._outstanding)
        return correlation_id in self._outstanding and between < _MAX_UNANSWERED_BETWEEN


def _two_numbers(data: bytearray, at: int) -> tuple[int, int]:
    """Return the two 32-bit integers at a place."""
    return _INT32.unpack_from(data, at)[0], _INT32.unpack_from(data, at + _INT32.size)[0]
