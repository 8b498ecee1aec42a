"""Payloads of TCP segments as plain lists, which reassembly, frame cutter and searches hand on.

The packet index is columns; loops that look at single values are faster over lists. A range
`first:last` of segments whose payloads follow each other in one direction is a contiguous run.

A segment covers a piece of the stream, from `edge[n]` to `edge[n + 1]`. Fewer bytes may be here: a
capture with a snap length has only the first ones of a packet, and a hole has none.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

_NOTHING: Final = memoryview(b"")


class Piece(NamedTuple):
    """A segment, or a part of one, that outlives its block.

    Attributes:
        data: the bytes that are here.
        size: how many it covers of the stream.
        packet: number of the packet that brought it.
        time_ns: when that was captured, since 1970.
    """

    data: bytes
    size: int
    packet: int
    time_ns: int

    def part(self, start: int, stop: int) -> "Piece":
        """Return the part from `start` to `stop`, counted from its own first byte."""
        return Piece(self.data[start:stop], stop - start, self.packet, self.time_ns)


def first_packet(pieces: Iterable[Piece], oldest: int) -> int | None:
    """Return the first packet, from `oldest` on, that brought one of the pieces."""
    packets = (piece.packet for piece in pieces)
    return min((packet for packet in packets if packet >= oldest), default=None)


class Segments(NamedTuple):
    """Payloads of segments, in lists of one length (`edge` is one longer).

    Attributes:
        view: the memory that the payloads lie in.
        begin, end: where each lies in `view`.
        edge: where each starts in the stream, counted from an arbitrary place.
        packet: number of the packet that brought it.
        time_ns: when that was captured, since 1970.
        has_missing: whether some cover more than is here.
    """

    view: memoryview
    begin: list[int]
    end: list[int]
    edge: list[int]
    packet: list[int]
    time_ns: list[int]
    has_missing: bool

    @classmethod
    def of_pieces(cls, pieces: Sequence[Piece]) -> "Segments":
        """Return the pieces, which follow each other in the stream, as segments."""
        end = list(accumulate(len(piece.data) for piece in pieces))
        edge = list(accumulate((piece.size for piece in pieces), initial=0))
        return cls(
            memoryview(b"".join([piece.data for piece in pieces])),
            [0, *end[:-1]],
            end,
            edge,
            [piece.packet for piece in pieces],
            [piece.time_ns for piece in pieces],
            end[-1] != edge[-1],
        )

    @classmethod
    def hole(cls, size: int, packet: int, time_ns: int) -> "Segments":
        """Return one segment that covers `size` bytes of which none is here."""
        return cls(_NOTHING, [0], [0], [0, size], [packet], [time_ns], has_missing=True)

    def piece(self, index: int, skip: int = 0) -> Piece:
        """Return a copy of a segment without its first `skip` bytes."""
        start = min(self.begin[index] + skip, self.end[index])
        data = self.view[start : self.end[index]].tobytes()
        size = self.edge[index + 1] - self.edge[index] - skip
        return Piece(data, size, self.packet[index], self.time_ns[index])
