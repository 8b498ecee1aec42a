"""Packets whose numbers do not fit their connection: strays, or the start of another one.

A packet belongs to a connection if the bytes that it carries, and those that it acknowledges, lie
within a window of those seen. Any other is put aside. It is a stray (a late reset, a forged or
delayed packet, another connection that a router has mixed up), unless a second one agrees with it:

    the same end goes on behind it          sequence 4000, 100 bytes; then sequence 4100
    the other end acknowledges it           sequence 4000, 100 bytes; then acknowledgment 4100

Then the connection goes on there. If only one of the two does not fit, the capture has lost that
much of one direction, if a network can have carried it in the time. Otherwise it is another
connection: the same one in a later recording, or one whose SYN was not captured.

A number that was seen before always fits: a mirror may be late by any amount. So does an
acknowledgment of less than before, from an end whose own numbers fit: it says nothing new.

Source: RFC 9293 section 3.10.7.4 (which segments are acceptable), RFC 5961 (blind resets and data).
"""

from typing import Final, NamedTuple

from kdiag.pcap.tcp.reassembly import LARGEST_WINDOW
from kdiag.pcap.tcp.segments import Piece
from kdiag.pcap.tcp.sorted_batch import ACK, FIN, SegmentRow

_MODULUS: Final = 1 << 32
_LEAST_WINDOW: Final = 1 << 20
_USUAL_SCALE: Final = 8
_MOST_ASIDE: Final = 8
_MOST_BYTES_PER_NS: Final = 50  # 400 Gbit/s


class Stray(NamedTuple):
    """A packet that does not fit.

    Attributes:
        row: the packet.
        piece: its payload; None without any.
        fits: whether at least what it carries does.
        fits_other: whether at least what it acknowledges does.
        most: how many bytes may have passed unseen before it.
        seen: the number of the packet itself, where it is taken for a later one.
    """

    row: SegmentRow
    piece: Piece | None
    fits: bool
    fits_other: bool
    most: int = LARGEST_WINDOW
    seen: int = 0

    @property
    def end(self) -> int:
        """Return the sequence number behind what it carries."""
        return (self.row.sequence + self.row.size + bool(self.row.flags & FIN)) % _MODULUS

    def known_at(self, packet: int) -> "Stray":
        """Return it as if it had come with a later packet: until then nobody waits for it."""
        piece = None if self.piece is None else self.piece._replace(packet=packet)
        row = self.row._replace(packet=packet)
        return self._replace(row=row, piece=piece, seen=self.row.packet)

    def agrees_with(self, earlier: "Stray") -> bool:
        """Return whether this packet goes on where an earlier one ended, or acknowledges it."""
        if self.row.side == earlier.row.side:
            if self.fits and earlier.fits:
                more = self.row.acknowledgment - earlier.row.acknowledgment
                return 0 < more % _MODULUS <= _LEAST_WINDOW
            return earlier.row.size > 0 and self.row.sequence == earlier.end
        if not self.row.flags & ACK:
            return False
        is_answer = earlier.row.size > 0 and self.row.acknowledgment == earlier.end
        return is_answer or (self.row.size > 0 and self.row.sequence == earlier.row.acknowledgment)


class Strays:
    """The packets of a connection that were put aside.

    Attributes:
        count: how many there were.
    """

    __slots__ = ("_aside", "count")

    def __init__(self) -> None:
        self.count = 0
        self._aside: list[Stray] = []

    def add(self, stray: Stray) -> list[Stray]:
        """Put a packet aside; if it agrees with an earlier one, return both and those between."""
        aside = self._aside[1 - _MOST_ASIDE :]
        first = next((n for n, each in enumerate(aside) if stray.agrees_with(each)), None)
        self.count += 1
        if first is None:
            self._aside = [*aside, stray]
            return []
        self._aside = []
        found = [*aside[first:], stray]
        self.count -= len(found)
        return [each.known_at(stray.row.packet) for each in found]


def window_bytes(field: int) -> int:
    """Return how far a packet may be from another, given the largest window field seen.

    By how many bits it is shifted only the SYNs tell, which not every capture has.
    """
    return max(field << _USUAL_SCALE, _LEAST_WINDOW)


def most_bytes(window: int, elapsed_ns: int) -> int:
    """Return how many bytes a network may have carried since the last packet that fits."""
    return window + max(0, elapsed_ns) * _MOST_BYTES_PER_NS
