"""Finds responses in a connection of which the capture has the broker's direction alone.

A response has little that could be recognised: a size and a correlation id. But clients count
their correlation ids up, so a chain of frames, each starting where the one before ends, with ids
that grow by little, is no accident. A chain may start with any segment.
"""

from bisect import bisect_right
from itertools import accumulate
from struct import Struct
from typing import Final

from kdiag.pcap.tcp.segments import Piece
from kdiag.wire.frame import LENGTH_BYTES

LARGEST_ID_STEP: Final = 1000
"""Between two responses there may be requests with acks=0, or responses that were lost."""

_HEAD: Final = Struct(">ii")
_LEAST_SIZE: Final = 4
_MAX_STARTS: Final = 256  # so that a long stream of something else costs little
_ENOUGH: Final = 3
_ENOUGH_AT_THE_END: Final = 2


class ResponseWalk:
    """Walks from response to response as more bytes come.

    Attributes:
        start: where in the stream the chain starts.
    """

    __slots__ = (
        "_count",
        "_last_id",
        "_max_frame_bytes",
        "_next",
        "_starts_left",
        "start",
    )

    def __init__(self, max_frame_bytes: int) -> None:
        self.start = 0
        self._max_frame_bytes = max_frame_bytes
        self._next = 0
        self._count = 0
        self._last_id = -1
        self._starts_left = _MAX_STARTS

    def is_proved(self, pieces: list[Piece], stop: int, *, is_over: bool = False) -> bool:
        """Return whether enough responses follow each other.

        Args:
            pieces: the kept end of the stream.
            stop: where in the stream they end.
            is_over: whether no more will come.
        """
        if self._starts_left and self._next + _HEAD.size <= stop:
            self._go_on(pieces, stop)
        at_end = is_over and self._next == stop and self._count >= _ENOUGH_AT_THE_END
        return self._count >= _ENOUGH or at_end

    def _go_on(self, pieces: list[Piece], stop: int) -> None:
        """Walk as far as the bytes go."""
        offset = stop - sum(piece.size for piece in pieces)
        edges = list(accumulate((piece.size for piece in pieces), initial=offset))
        if self.start < offset:
            self._restart(offset)
        while self._count < _ENOUGH and self._next + _HEAD.size <= stop:
            if not self._step(_read(pieces, edges, self._next)):
                later = bisect_right(edges, self.start)
                self._restart(edges[min(later, len(edges) - 1)])

    def _restart(self, start: int) -> None:
        self._starts_left = max(0, self._starts_left - 1)
        self.start = self._next = start
        self._count, self._last_id = 0, -1

    def _step(self, head: bytes) -> bool:
        """Go on to the next response, if `head` starts one; return whether it does."""
        if len(head) < _HEAD.size:
            return False
        size, correlation_id = _HEAD.unpack(head)
        if not _LEAST_SIZE <= size <= self._max_frame_bytes or correlation_id < 0:
            return False
        if self._count and not 0 < correlation_id - self._last_id <= LARGEST_ID_STEP:
            return False
        self._count += 1
        self._last_id = correlation_id
        self._next += LENGTH_BYTES + size
        return True


def _read(pieces: list[Piece], edges: list[int], position: int) -> bytes:
    """Return the head at a position of the stream; less where bytes are missing."""
    head = b""
    row = bisect_right(edges, position) - 1
    while len(head) < _HEAD.size and row < len(pieces):
        skip = position + len(head) - edges[row]
        some = pieces[row].data[skip : skip + _HEAD.size - len(head)]
        if not some:
            break
        head += some
        row += 1
    return head
