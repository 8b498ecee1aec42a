"""Which connection each TCP segment of a capture belongs to, in columns.

A segment belongs to the connection between its ends that began last. Only the ends of connections
that are wanted are looked up:

    ends (low, high) -> number of the pair -> (pair, packet) among the first packets of the pair
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pcap.tcp.extent import Extent, Extents
from kdiag.pcap.tcp.sightings import Ends

_PACKET_BITS: Final = 40
_NOBODY: Final = -1
_DISCARDED: Final = -2

Integers = npt.NDArray[np.int64]


class _Start(NamedTuple):
    """The first packet between two ends that is of a connection.

    Attributes:
        ends: the lower one first.
        packet: its number.
        owner: number of the connection in `PacketOwners.extents`; -1 if it is not wanted, -2 if it
            turned out to be another one once more.
        is_link: whether it is a sighting of the owner with other ends.
        is_turned: whether the lower end stands for the higher one of the owner.
    """

    ends: Ends
    packet: int
    owner: int
    is_link: bool = False
    is_turned: bool = False


class OwnedSegments(NamedTuple):
    """The segments of a batch that belong to wanted connections, as columns.

    Attributes:
        row: which one of the batch.
        owner: number of the connection in `PacketOwners.extents`.
        side: which end of it sent the segment.
    """

    row: Integers
    owner: Integers
    side: Integers


class PacketOwners:
    """Finds the segments of some connections.

    Attributes:
        extents: the connections that are wanted.
    """

    def __init__(self, extents: Extents, wanted: Collection[int]) -> None:
        """Prepare the look-up.

        Args:
            extents: of all connections of the capture.
            wanted: the numbers of those that are looked for.
        """
        self.extents: list[Extent] = [
            each for each in extents.found if each.connection.number in wanted
        ]
        number_of = {each.connection.number: at for at, each in enumerate(self.extents)}
        pairs = {start.ends for start in _starts(self.extents, number_of)}
        starts = sorted(start for start in _starts(extents.found, number_of) if start.ends in pairs)
        starts += [_Start(ends, at, _DISCARDED) for ends, at in extents.discarded if ends in pairs]
        starts.sort()
        known = list(_with_last_syns(list(_with_discarded(starts)), self.extents))
        ends = [end for pair in pairs for end in pair]
        self._ends = np.unique(np.array(ends, np.uint64))
        low, high = (np.array([each.ends[n] for each in known], np.uint64) for n in (0, 1))
        pair = self._pairs(low, high)
        key = (pair << _PACKET_BITS) + np.array([each.packet for each in known], np.int64)
        order = np.argsort(key, kind="stable")
        self._keys = key[order]
        self._owners = np.array([each.owner for each in known], np.int64)[order]
        self._turned = np.array([each.is_turned for each in known], np.bool_)[order]

    def find(self, batch: SegmentBatch) -> OwnedSegments:
        """Return the segments of the wanted connections."""
        is_high = batch.source > batch.destination
        low = np.where(is_high, batch.destination, batch.source)
        high = np.where(is_high, batch.source, batch.destination)
        if not len(self._keys):
            nothing = np.empty(0, np.int64)
            return OwnedSegments(nothing, nothing, nothing)
        pair = self._pairs(low, high)
        key = (pair << _PACKET_BITS) + batch.packet
        at = np.searchsorted(self._keys, key, "right") - 1
        is_known = (pair >= 0) & (at >= 0)
        at = np.where(is_known, at, 0)
        is_known &= (self._keys[at] >> _PACKET_BITS) == pair
        is_known &= self._owners[at] >= 0
        row = np.flatnonzero(is_known)
        at = at[row]
        return OwnedSegments(row, self._owners[at], (is_high[row] ^ self._turned[at]).astype(int))

    def _pairs(self, low: npt.NDArray[np.uint64], high: npt.NDArray[np.uint64]) -> Integers:
        """Return a number for each pair of ends; -1 where one is not known."""
        if not len(self._ends):
            return np.full(len(low), -1, np.int64)
        last = len(self._ends) - 1
        one, other = (np.minimum(np.searchsorted(self._ends, end), last) for end in (low, high))
        is_known = (self._ends[one] == low) & (self._ends[other] == high)
        return np.where(is_known, one * len(self._ends) + other, -1)


def _starts(extents: Collection[Extent], number_of: dict[int, int]) -> Iterator[_Start]:
    """Yield the first packets of connections, and of those that are these once more."""
    for extent in extents:
        owner = number_of.get(extent.connection.number, _NOBODY)
        yield _Start(extent.endpoints, extent.first_packet, owner)
        for link in extent.links:
            is_turned = link.again[0] > link.again[1]
            yield _Start(link.ends, link.packet, owner, is_link=True, is_turned=is_turned)


def _with_discarded(starts: list[_Start]) -> Iterator[_Start]:
    """Yield starts; one that is another connection once more belongs to that from there on."""
    for start, following in zip_longest(starts, starts[1:]):
        if start.owner != _DISCARDED:
            yield start
        elif following is not None and following.is_link and following.ends == start.ends:
            yield following._replace(packet=start.packet)
        else:
            yield start._replace(owner=_NOBODY)


def _with_last_syns(starts: list[_Start], extents: Sequence[Extent]) -> Iterator[_Start]:
    """Yield starts; the SYN that shows that a wanted connection was over belongs to that, too."""
    former: _Start | None = None
    for start in starts:
        is_next = former is not None and former.owner >= 0 and former.ends == start.ends
        if is_next and start.owner == _NOBODY and former is not None:
            is_next = extents[former.owner].connection.close_reason == "reused"
            yield start._replace(packet=start.packet + is_next)
        else:
            yield start
        former = start
