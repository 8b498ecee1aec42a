"""Walks over the first frames of a client, until it is sure that they are requests.

Where the first byte of a connection is known, nothing has to be searched for: each frame starts
where the one before ends. The first of them that decodes is proof enough. One without a client id
is, if it is the very first; one that cannot be decoded, because bytes are cut or its version is not
known, wants a second one of the same client. A frame that claims to be of a known version and does
not decode is not proof of the opposite, clients have faults; but a connection of which no frame
decodes is not Kafka's, whatever it looks like, unless the other end answers as a broker does: with
the correlation ids of the requests, in their order, and with bodies that are their responses as far
as these are known. Other brokers than Kafka have APIs of their own, and clients become newer.
"""

from collections.abc import Sequence
from enum import Enum
from struct import Struct
from typing import Final, NamedTuple

from kdiag.pcap.kafka.evidence import ENOUGH_BYTES, Evidence, request_evidence
from kdiag.pcap.kafka.request_head import RequestLikeness, request_likeness
from kdiag.pcap.kafka.trial_decoding import (
    RequestKind,
    can_try,
    decodes_as_response,
    is_whole_response,
)
from kdiag.pcap.tcp.segments import Piece
from kdiag.wire.frame import LENGTH_BYTES
from kdiag.wire.header import REQUEST_START, raw_client_id

_LENGTH: Final = Struct(">i")
_ID: Final = Struct(">i")
_MAX_FRAMES: Final = 8
_LONG: Final = 36


class SeenAnswer(Enum):
    """Whether the bytes of a client are requests."""

    YES = "yes"
    NO = "no"
    OPEN = "open"


class RequestWalk:
    """Walks from request to request as more bytes come."""

    __slots__ = ("_frames", "_is_proved", "_last", "_max_frame_bytes", "_next")

    def __init__(self, max_frame_bytes: int) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._next = 0
        self._frames = 0
        self._is_proved = False
        self._last: tuple[bytes | None, int] | None = None

    def answer(self, pieces: list[Piece], *, is_over: bool) -> SeenAnswer:
        """Return whether there are requests.

        Args:
            pieces: the stream from its first byte on.
            is_over: whether no more bytes will come.
        """
        while self._frames < _MAX_FRAMES and not self._is_proved:
            prefix, _ = _read(pieces, self._next, LENGTH_BYTES)
            if len(prefix) < LENGTH_BYTES:
                return SeenAnswer.NO if is_over else SeenAnswer.OPEN
            (size,) = _LENGTH.unpack(prefix)
            if size <= 0:
                return SeenAnswer.NO
            wanted = min(size, ENOUGH_BYTES)
            head, is_cut = _read(pieces, self._next + LENGTH_BYTES, wanted)
            found = request_evidence(head, size, is_all=is_over or is_cut)
            if found is Evidence.OPEN:
                return SeenAnswer.OPEN
            self._is_proved = self._is_proof(found, head, size)
            is_large = size > self._max_frame_bytes
            if (
                not self._is_proved
                and found is Evidence.NONE
                and (is_large or not looks_like_requests(head, size))
            ):
                return SeenAnswer.NO
            self._next += LENGTH_BYTES + size
            self._frames += 1
        return SeenAnswer.YES if self._is_proved else SeenAnswer.NO

    def _is_proof(self, found: Evidence, head: bytes, size: int) -> bool:
        """Return whether a frame, and the one before, are enough."""
        if found in {Evidence.DECODES, Evidence.NONE}:
            return found is Evidence.DECODES
        is_first = not self._frames
        if is_first and (found is Evidence.NAMELESS or len(head) < size):
            return True
        last, self._last = self._last, (raw_client_id(head), REQUEST_START.unpack_from(head)[2])
        return last is not None and last[0] == self._last[0] and last[1] < self._last[1]


def are_answered(asked: Sequence[Piece], answered: Sequence[Piece], *, is_over: bool) -> SeenAnswer:
    """Return whether the frames of one end are the responses to those of the other.

    Args:
        asked: the stream of the one that asks, from its first byte on.
        answered: that of the other.
        is_over: whether no more bytes will come.
    """
    ids: set[int] = set()
    starts = 0, 0
    for _ in range(_MAX_FRAMES):
        request = _frame_at(asked, starts[0], is_over=is_over)
        response = _frame_at(answered, starts[1], is_over=is_over)
        if request is None or response is None:
            return SeenAnswer.NO if is_over else SeenAnswer.OPEN
        if not _is_pair(request, response):
            return SeenAnswer.NO
        ids.add(REQUEST_START.unpack_from(request.head)[2])
        if len(ids) > 1 or _is_sure_pair(request, response):
            return SeenAnswer.YES
        starts = starts[0] + request.stream_bytes, starts[1] + response.stream_bytes
    return SeenAnswer.NO


class _WalkedFrame(NamedTuple):
    """A frame: its first bytes, and its stated size."""

    head: bytes
    size: int

    @property
    def is_whole(self) -> bool:
        return len(self.head) == self.size

    @property
    def stream_bytes(self) -> int:
        return LENGTH_BYTES + max(self.size, 0)


def _frame_at(pieces: Sequence[Piece], position: int, *, is_over: bool) -> _WalkedFrame | None:
    """Return the frame at a position; None if it has not come, or not enough of it."""
    prefix, _ = _read(pieces, position, LENGTH_BYTES)
    if len(prefix) < LENGTH_BYTES:
        return None
    (size,) = _LENGTH.unpack(prefix)
    wanted = min(max(size, 0), ENOUGH_BYTES)
    head, is_cut = _read(pieces, position + LENGTH_BYTES, wanted)
    is_here = len(head) == wanted or is_cut or is_over
    return _WalkedFrame(head, size) if is_here else None


def _is_pair(request: _WalkedFrame, response: _WalkedFrame) -> bool:
    """Return whether a frame looks like a request, and another like the response to it."""
    if request_likeness(*request) < RequestLikeness.WEAK or len(response.head) < _ID.size:
        return False
    api_key, version, correlation_id = REQUEST_START.unpack_from(request.head)
    if _ID.unpack_from(response.head) != (correlation_id,):
        return False
    kind = (api_key, version)
    is_judged = response.is_whole and can_try(kind)
    return not is_judged or _is_response(response.head, kind)


def _is_sure_pair(request: _WalkedFrame, response: _WalkedFrame) -> bool:
    """Return whether one pair is enough: of its three proofs it has two.

    The client is named, or both decode; and more than zeros are repeated, or the response is long.
    """
    api_key, version, correlation_id = REQUEST_START.unpack_from(request.head)
    is_judged = response.is_whole and can_try((api_key, version))
    if looks_like_requests(*request):
        return correlation_id != 0 or is_judged
    found = request_evidence(*request, is_all=True)
    is_telling = correlation_id != 0 or response.size >= _LONG
    return found is Evidence.NAMELESS and is_telling and is_judged


def _is_response(frame: bytes, asked: RequestKind) -> bool:
    return decodes_as_response(frame, asked) or is_whole_response(frame, asked)


def looks_like_requests(head: bytes, size: int) -> bool:
    """Return whether the first frame of a client names one, though it may not decode."""
    return request_likeness(head, size) >= RequestLikeness.ODD


def _read(pieces: Sequence[Piece], position: int, size: int) -> tuple[bytes, bool]:
    """Return the bytes at a position of the stream, and whether those behind them are missing."""
    found = bytearray()
    offset = 0
    for piece in pieces:
        end = offset + piece.size
        if end > position + len(found):
            skip = position + len(found) - offset
            found += piece.data[skip : skip + size - len(found)]
            if len(found) == size:
                break
            if len(found) < end - position:
                return bytes(found), True
        offset = end
    return bytes(found), False
