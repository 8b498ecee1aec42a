"""Finds responses in a connection of which the capture has the broker's direction alone.

A response has little that could be recognised: a size and a correlation id. But clients count
their correlation ids up, so a chain of frames, each starting where the one before ends, with ids
that grow by little, may be one of responses; ZooKeeper's look like that, too. So every frame of the
chain that is here to its last byte must decode as the response of some API. At the end of the
stream one frame is enough if it is long; behind such a one ids may be any, as some clients use
them. A chain may start with any segment.
"""

from bisect import bisect_right
from itertools import accumulate
from struct import Struct
from typing import Final

from kdiag.pcap.kafka.trial_decoding import is_response_of_any
from kdiag.pcap.tcp.segments import Piece
from kdiag.wire.frame import LENGTH_BYTES

LARGEST_ID_STEP: Final = 1000
"""Between two responses there may be requests with acks=0, or responses that were lost."""

_HEAD: Final = Struct(">ii")
_LEAST_SIZE: Final = 4
_MAX_STARTS: Final = 256  # so that a long stream of something else costs little
_ENOUGH: Final = 3
_ENOUGH_AT_THE_END: Final = 2
_LONG: Final = 64
_MOST_JUDGED: Final = 1 << 20


class ResponseWalk:
    """Walks from response to response as more bytes come.

    Attributes:
        start: where in the stream the chain starts.
    """

    __slots__ = (
        "_count",
        "_has_long",
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
        self._has_long = False
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
            self._go_on(pieces, stop, is_over=is_over)
        if self._count >= _ENOUGH:
            return True
        is_enough = self._count >= _ENOUGH_AT_THE_END or self._has_long
        return is_over and self._next >= stop and is_enough

    def _go_on(self, pieces: list[Piece], stop: int, *, is_over: bool) -> None:
        """Walk as far as the bytes go."""
        offset = stop - sum(piece.size for piece in pieces)
        edges = list(accumulate((piece.size for piece in pieces), initial=offset))
        if self.start < offset:
            self._restart(offset)
        while self._starts_left and self._count < _ENOUGH and self._next + _HEAD.size <= stop:
            head = _read(pieces, edges, self._next, _HEAD.size)
            size = self._response_size(head)
            if size is None:
                self._leave(edges)
                continue
            end = self._next + LENGTH_BYTES + size
            if end > stop and size <= _MOST_JUDGED and not is_over:
                return
            if size > _MOST_JUDGED or end > stop:
                self._step(head, size)
                continue
            frame = _read(pieces, edges, self._next + LENGTH_BYTES, size)
            if len(frame) < size:
                self._step(head, size)
            elif is_response_of_any(frame):
                self._step(head, size)
                self._has_long = self._has_long or size >= _LONG
            else:
                self._leave(edges)

    def _leave(self, edges: list[int]) -> None:
        """Start afresh with the segment after the one that the chain started with."""
        later = bisect_right(edges, self.start)
        self._restart(edges[min(later, len(edges) - 1)])

    def _restart(self, start: int) -> None:
        self._starts_left = max(0, self._starts_left - 1)
        self.start = self._next = start
        self._count, self._has_long, self._last_id = 0, False, -1

    def _response_size(self, head: bytes) -> int | None:
        """Return the size of the response that `head` starts; None if it starts none."""
        if len(head) < _HEAD.size:
            return None
        size, correlation_id = _HEAD.unpack(head)
        if not _LEAST_SIZE <= size <= self._max_frame_bytes or correlation_id < 0:
            return None
        is_next = 0 < correlation_id - self._last_id <= LARGEST_ID_STEP
        if self._count and not self._has_long and not is_next:
            return None
        return int(size)

    def _step(self, head: bytes, size: int) -> None:
        """Go on to the next response."""
        self._count += 1
        self._last_id = _HEAD.unpack(head)[1]
        self._next += LENGTH_BYTES + size


def _read(pieces: list[Piece], edges: list[int], position: int, size: int) -> bytes:
    """Return the bytes at a position of the stream; fewer where some are missing."""
    found = bytearray()
    row = bisect_right(edges, position) - 1
    while len(found) < size and row < len(pieces):
        skip = position + len(found) - edges[row]
        some = pieces[row].data[skip : skip + size - len(found)]
        if not some:
            break
        found += some
        row += 1
    return bytes(found)
