"""Frame heuristics: how requests and responses look among other bytes, and what proves them.

Arrays of small integers look like a header very often, so a candidate needs proof beside its
looks:

* request: it must decode, or at least contradict nothing where bytes are cut or its version is not
  known (`evidence`); and another one of the same client follows, or it starts and ends where
  segments start and end. It must name its client, the one that was seen on the connection if one
  was, with a correlation id soon after the last. Without a name two must follow each other.
* response: it repeats the id of an outstanding request and is the response to just that request to
  its last byte. One more must follow with the next id; none if the first starts and ends where
  segments start and end. A short one says little: two must follow, or one if segments start with
  both, or start with the first and end with the other.
* So it is where a response cannot be decoded, because bytes of it are missing or its version is not
  known. The others must be the responses to their requests to the last byte, those that follow too.
* Its own request may be lost if segments start with it and those that follow. Where the capture has
  no requests at all, three in a row with ids that grow must start with segments.
* At the end of the stream what would follow need not.
"""

from bisect import bisect_left
from struct import Struct
from typing import Final, NamedTuple, Protocol

import numpy as np

from kdiag.pcap.kafka.evidence import Evidence, request_evidence
from kdiag.pcap.kafka.request_head import RequestLikeness, request_likeness
from kdiag.pcap.kafka.response_walk import LARGEST_ID_STEP
from kdiag.pcap.kafka.trial_decoding import (
    RequestKind,
    can_try,
    decodes_as_response,
    is_whole_response,
)
from kdiag.wire.frame import LENGTH_BYTES
from kdiag.wire.header import REQUEST_START

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_read_head: Final = Struct(">ii").unpack_from  # the size and the correlation id of a response
_KEY: Final = LENGTH_BYTES
_VERSION: Final = LENGTH_BYTES + 2
_CLIENT_ID_LENGTH: Final = LENGTH_BYTES + REQUEST_START.size
_CLIENT_ID: Final = _CLIENT_ID_LENGTH + 2
_LARGEST_CLIENT_ID: Final = 255
_LARGEST_VERSION: Final = 31
_LARGEST_KEY: Final = 127
_FIRST_PRINTABLE: Final = 0x20
_NAMELESS: Final = frozenset({RequestLikeness.WEAK, RequestLikeness.ODD})
_LARGEST_STEP: Final = 100_000
_RESPONSE_HEAD: Final = LENGTH_BYTES + _INT32.size
_SUCCESSORS: Final = 2
_LEAST_PLACES: Final = 128
_PLACE_SHARE: Final = 10
"""Of so many bytes one may start a response; where more could, it is the smallest ones that do."""
_MAX_TRIAL_BYTES: Final = 16 << 20
_MAX_AWAITED_BYTES: Final = 1 << 20
_SHORT: Final = 24
_TRIAL_SHARE: Final = 4
"""How many bytes may be decoded for each that is searched, so that hostile bytes cost little."""
_MAX_UNANSWERED_BETWEEN: Final = 8  # requests with acks=0 get no response


class Candidate(NamedTuple):
    """A place that looks like a frame.

    Attributes:
        ready: how many of the searched bytes must be there for a proof; 0 if more bytes must tell
            whether it is a candidate.
        stop: where it ends, in the searched bytes.
        start: where its length is.
        mark: what its successor must agree with: the client id of a request; of a response,
            whether it repeats the id of an outstanding request.
    """

    ready: int
    stop: int
    start: int
    mark: bytes

    def moved(self, by: int) -> "Candidate":
        """Return the candidate in bytes of which the first were forgotten, or some were added."""
        return Candidate(self.ready + by, self.stop + by, self.start + by, self.mark)


class SearchedBytes(NamedTuple):
    """The bytes that a search keeps.

    Attributes:
        data: the bytes, zeros where some are missing.
        edges: where segments start in them, and where the last one ends.
        holes: where bytes are missing, each time up to the next edge.
    """

    data: bytearray
    edges: list[int]
    holes: list[int]

    def is_whole(self, start: int, stop: int) -> bool:
        """Return whether every byte from `start` to `stop` is here."""
        if stop > len(self.data):
            return False
        return bisect_left(self.holes, start) == bisect_left(self.holes, stop)

    def whole_until(self, start: int, stop: int) -> int:
        """Return the first place from `start` on where a byte is missing, or `stop`."""
        at = bisect_left(self.holes, start)
        return min(self.holes[at], stop) if at < len(self.holes) else stop


def is_border(edges: list[int], place: int) -> bool:
    """Return whether a segment starts or ends at a place."""
    at = bisect_left(edges, place)
    return at < len(edges) and edges[at] == place


class FrameHeuristics(Protocol):
    """Recognises the frames of one direction."""

    def head_bytes(self) -> int:
        """Return how many bytes can rule a place out."""
        ...

    def places(self, data: bytearray, start: int, stop: int) -> list[int]:
        """Return the places from `start` to `stop` that a closer look is worth."""
        ...

    def candidate(self, data: bytearray, place: int, *, is_aligned: bool) -> Candidate | None:
        """Return the frame that seems to start at a place; if any."""
        ...

    def stands_alone(self, kept: SearchedBytes, candidate: Candidate) -> bool:
        """Return whether a candidate that starts and ends where segments do needs no successor."""
        ...

    def proof(self, kept: SearchedBytes, candidate: Candidate, *, is_over: bool) -> int:
        """Return where the proof by what follows ends; 0 if there is none.

        While more bytes must tell it is minus the number of bytes that must be there.

        Args:
            kept: the searched bytes.
            candidate: which of them.
            is_over: whether no more bytes will come.
        """
        ...


class RequestHeuristics:
    """Recognises requests."""

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
        """Return where a known key, a version and a client id may be; any of a known client."""
        size = stop - start
        column = np.frombuffer(data, np.uint8)[start : stop + _CLIENT_ID]

        def at(offset: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
            return column[offset : offset + size]

        if self._client_ids:
            is_likely = np.zeros(size, np.bool_)
            for each in self._client_ids:
                is_same = at(_CLIENT_ID_LENGTH) == len(each) >> 8
                is_same &= at(_CLIENT_ID_LENGTH + 1) == len(each) & 0xFF
                is_likely |= is_same & (at(_CLIENT_ID) == each[0])
            is_likely &= at(_KEY) <= _LARGEST_KEY
        else:
            is_likely = at(_KEY) == 0
            is_likely &= at(_KEY + 1) <= _LARGEST_KEY
            is_likely &= at(_VERSION) == 0
            is_likely &= at(_VERSION + 1) <= _LARGEST_VERSION
            is_likely &= at(_CLIENT_ID_LENGTH) == 0
            is_likely &= at(_CLIENT_ID_LENGTH + 1) > 0
            is_likely &= at(_CLIENT_ID) >= _FIRST_PRINTABLE
        found: list[int] = (np.flatnonzero(is_likely) + start).tolist()
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
            return Candidate(0, 0, place, b"")
        head = bytes(data[place + LENGTH_BYTES : start]) + client_id
        likeness = request_likeness(head, size)
        if likeness is RequestLikeness.ODD and client_id in self._client_ids:
            likeness = RequestLikeness.STRONG
        is_nameless = likeness in _NAMELESS and not self._client_ids
        is_other = bool(self._client_ids) and client_id not in self._client_ids
        if not is_nameless and (likeness < RequestLikeness.STRANGE or is_other):
            return None
        if is_nameless or not self._is_expected(head):
            return Candidate(stop, stop, place, b"") if is_aligned else None
        return Candidate(stop, stop, place, client_id)

    def _is_expected(self, head: bytes) -> bool:
        """Return whether a request follows those seen before; a broker takes others, too."""
        _, _, correlation_id = REQUEST_START.unpack_from(head)
        return self._last is None or 0 < correlation_id - self._last <= _LARGEST_STEP

    def stands_alone(self, kept: SearchedBytes, candidate: Candidate) -> bool:
        """Return whether it decodes; where it cannot, whether its client is known, or it is cut."""
        found = self._evidence(kept, candidate)
        if found is not Evidence.LOOKS:
            is_known = found is Evidence.NAMELESS and candidate.mark != b""
            return found is Evidence.DECODES or is_known
        return bool(self._client_ids) or not kept.is_whole(candidate.start, candidate.stop)

    def _evidence(self, kept: SearchedBytes, candidate: Candidate) -> Evidence:
        """Return how sure it is that a candidate is a request."""
        start = candidate.start + LENGTH_BYTES
        here = kept.whole_until(start, min(candidate.stop, len(kept.data)))
        head = bytes(kept.data[start:here])
        return request_evidence(head, candidate.stop - start, is_all=True)

    def proof(self, kept: SearchedBytes, candidate: Candidate, *, is_over: bool) -> int:
        """Look for a request of the same client where the candidate ends.

        A candidate without a client id must be a request to its last byte instead.
        """
        data, edges, _ = kept
        at = candidate.stop
        found = self._evidence(kept, candidate)
        if found is Evidence.NONE or (not candidate.mark and not is_border(edges, at)):
            return 0
        if found is Evidence.NAMELESS and not candidate.mark:
            return self._nameless_end(kept, candidate, is_over=is_over)
        if is_over and at == len(data):
            return at if found is Evidence.DECODES or self._client_ids else 0
        end = at + _CLIENT_ID + len(candidate.mark)
        if len(data) < end:
            return -end
        (size,) = _INT32.unpack_from(data, at)
        is_same = data[at + _CLIENT_ID_LENGTH + 1] == len(candidate.mark)
        is_same = is_same and data[at + _CLIENT_ID : end] == candidate.mark
        is_frame = 0 < size <= self._max_frame_bytes
        head = bytes(data[at + LENGTH_BYTES : end])
        is_named = is_same and is_frame and request_likeness(head, size) >= RequestLikeness.ODD
        return end if is_named else 0

    def _nameless_end(self, kept: SearchedBytes, candidate: Candidate, *, is_over: bool) -> int:
        """Return where the request ends that proves one without a client id; see `proof`."""
        data, at = kept.data, candidate.stop
        if len(data) < at + LENGTH_BYTES:
            return 0 if is_over else -(at + _CLIENT_ID)
        (size,) = _INT32.unpack_from(data, at)
        end = at + LENGTH_BYTES + size
        if not REQUEST_START.size <= size <= self._max_frame_bytes:
            return 0
        if len(data) < end:
            return 0 if is_over else -end
        before, after = (
            REQUEST_START.unpack_from(data, start + LENGTH_BYTES)[2]
            for start in (candidate.start, at)
        )
        successor = Candidate(end, end, at, b"")
        if not before < after or self._evidence(kept, successor) < Evidence.NAMELESS:
            return 0
        return int(end)


class ResponseHeuristics:
    """Recognises responses."""

    def __init__(
        self,
        max_frame_bytes: int,
        outstanding: dict[int, set[RequestKind]],
        *,
        is_one_sided: bool = False,
    ) -> None:
        """Look for the responses of a connection.

        Args:
            max_frame_bytes: the largest frame there can be.
            outstanding: the kinds of the requests seen, by correlation id; the caller adds to it.
            is_one_sided: whether the capture has no requests, so that ids that grow must do.
        """
        self._max_frame_bytes = max_frame_bytes
        self._outstanding = outstanding
        self._is_one_sided = is_one_sided
        self._trial_bytes = 0

    def head_bytes(self) -> int:
        """Return the bytes up to the end of the correlation id."""
        return _RESPONSE_HEAD

    def places(self, data: bytearray, start: int, stop: int) -> list[int]:
        """Return where the correlation id of an outstanding request may be."""
        size = stop - start
        self._trial_bytes = min(_MAX_TRIAL_BYTES, self._trial_bytes + size * _TRIAL_SHARE)
        column = np.frombuffer(data, np.uint8)[start : stop + _RESPONSE_HEAD]
        number = np.zeros(size + LENGTH_BYTES, np.int32)
        for byte in range(_INT32.size):
            number = (number << 8) | column[byte : byte + size + LENGTH_BYTES]
        stated = number[:size]
        is_likely = (stated >= _INT32.size) & (stated <= self._max_frame_bytes)
        wanted = np.fromiter(self._outstanding, np.int32, len(self._outstanding))
        is_likely &= np.isin(number[LENGTH_BYTES:], wanted)
        places = np.flatnonzero(is_likely)
        most = max(_LEAST_PLACES, size // _PLACE_SHARE)
        if len(places) > most:
            places = np.sort(places[np.argpartition(stated[places], most)[:most]])
        found: list[int] = (places + start).tolist()
        return found

    def candidate(self, data: bytearray, place: int, *, is_aligned: bool) -> Candidate | None:
        """Return the response that seems to start at a place."""
        size, correlation_id = _read_head(data, place)
        if not _INT32.size <= size <= self._max_frame_bytes:
            return None
        is_outstanding = correlation_id in self._outstanding
        if not is_outstanding and not (is_aligned and correlation_id >= 0):
            return None
        stop = place + LENGTH_BYTES + size
        return Candidate(stop, stop, place, b"+" if is_outstanding else b"")

    def stands_alone(self, kept: SearchedBytes, candidate: Candidate) -> bool:
        """Return false: four bytes of an id are not a proof."""
        del kept, candidate
        return False

    def proof(self, kept: SearchedBytes, candidate: Candidate, *, is_over: bool) -> int:
        """Look for the responses that must follow the candidate, then decode it and them."""
        end = self._chain_end(kept, candidate, is_over=is_over)
        if end > 0 and not self._are_answers(kept, candidate.start, end):
            return 0
        return end

    def _chain_end(self, kept: SearchedBytes, candidate: Candidate, *, is_over: bool) -> int:
        """Return where the heads end that must follow; see `proof`."""
        data, edges, _ = kept
        at, end = candidate.stop, candidate.stop
        _, before = _read_head(data, candidate.start)
        for _ in range(self._successors(kept, candidate, before)):
            if is_over and at == len(data):
                is_known = at > candidate.stop and self._is_known(before)
                return at if candidate.mark or is_known else 0
            if len(data) < at + _RESPONSE_HEAD:
                return 0 if is_over else -(at + _RESPONSE_HEAD)
            if not self._may_follow(kept, candidate, at, before):
                return 0
            size, correlation_id = _read_head(data, at)
            end, at = at + _RESPONSE_HEAD, at + LENGTH_BYTES + int(size)
            before = correlation_id
            if at > len(data) and not is_over and self._is_awaited(correlation_id, size):
                return -at
            if correlation_id in self._outstanding and self._is_enough(candidate, edges, at):
                return end
        return end

    def _is_known(self, correlation_id: int) -> bool:
        """Return whether a request with an id was seen, or none can have been."""
        return self._is_one_sided or correlation_id in self._outstanding

    def _is_awaited(self, correlation_id: int, size: int) -> bool:
        """Return whether all of a response must be here: not if it is huge or tells nothing."""
        return size <= _MAX_AWAITED_BYTES and self._can_try(correlation_id)

    def _can_try(self, correlation_id: int) -> bool:
        """Return whether it is known how the response with an id must look."""
        return any(map(can_try, self._outstanding.get(correlation_id, ())))

    def _successors(self, kept: SearchedBytes, candidate: Candidate, correlation_id: int) -> int:
        """Return how many responses must follow one with this id: less where it can be decoded."""
        _, stop, start, _ = candidate
        if stop - start <= _SHORT or not kept.is_whole(start, stop):
            return _SUCCESSORS
        if not self._can_try(correlation_id):
            return _SUCCESSORS
        return 0 if all(is_border(kept.edges, place) for place in (start, stop)) else 1

    def _are_answers(self, kept: SearchedBytes, at: int, end: int) -> bool:
        """Return whether the responses from `at` to `end` are those to their requests.

        Those of which bytes are missing, or are still to come, are believed. Values that no broker
        of Kafka sends, such as error codes of others, are where a segment is the whole response.
        """
        while at < end:
            size, correlation_id = _read_head(kept.data, at)
            start, at = at + LENGTH_BYTES, at + LENGTH_BYTES + size
            if kept.is_whole(start, at) and self._can_try(correlation_id):
                frame = bytes(kept.data[start:at])
                borders = start - LENGTH_BYTES, at
                may_be_odd = all(is_border(kept.edges, each) for each in borders)
                asked = self._outstanding[correlation_id]
                if not any(self._fits(frame, each, may_be_odd=may_be_odd) for each in asked):
                    return False
        return True

    def _fits(self, frame: bytes, asked: RequestKind, *, may_be_odd: bool) -> bool:
        """Return whether a frame is the response to a request, unless trying costs too much."""
        if len(frame) > self._trial_bytes:
            return False
        self._trial_bytes -= len(frame)
        if not can_try(asked) or is_whole_response(frame, asked):
            return True
        return may_be_odd and decodes_as_response(frame, asked)

    def _is_enough(self, candidate: Candidate, edges: list[int], end: int) -> bool:
        """Return whether one successor, which ends at `end`, is enough.

        It is where segments start with both frames, or start with the first and end with the other.
        """
        starts = not self._is_one_sided and is_border(edges, candidate.start)
        return starts and (is_border(edges, candidate.stop) or is_border(edges, end))

    def _may_follow(self, kept: SearchedBytes, candidate: Candidate, at: int, before: int) -> bool:
        """Return whether the response at a place may be the one after that with the id before."""
        size, correlation_id = _read_head(kept.data, at)
        is_near = 0 < correlation_id - before <= LARGEST_ID_STEP
        is_frame = is_near and _INT32.size <= size <= self._max_frame_bytes
        if not is_frame or not (candidate.mark or is_border(kept.edges, at)):
            return False
        if self._is_one_sided:
            return True
        if not candidate.mark and correlation_id not in self._outstanding:
            # By clocks that differ, it may be captured before its request.
            return bool(correlation_id - before <= _MAX_UNANSWERED_BETWEEN)
        if not candidate.mark:
            return True
        between = sum(before < each < correlation_id for each in self._outstanding)
        return correlation_id in self._outstanding and between < _MAX_UNANSWERED_BETWEEN
