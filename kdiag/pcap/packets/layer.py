"""Packets seen from one protocol layer: where its header starts and how much follows."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

PROTOCOL_TCP: Final = 6


class ProtocolLayer(NamedTuple):
    """Some packets of a block, each at the start of one layer's header.

    Attributes:
        row: the packet's index in its block (int64), ascending.
        offset: where the layer's header starts in the data (int64).
        captured: bytes from there on that are in the data; below 0 where the header before was
            cut (int64).
        wire: bytes from there on that were on the wire (int64).
    """

    row: npt.NDArray[np.int64]
    offset: npt.NDArray[np.int64]
    captured: npt.NDArray[np.int64]
    wire: npt.NDArray[np.int64]

    def pick(self, chosen: npt.NDArray[np.bool_]) -> "ProtocolLayer":
        """Return the chosen packets; the same object when all are."""
        return self if chosen.all() else ProtocolLayer(*(column[chosen] for column in self))

    def skip(self, size: int | npt.NDArray[np.int64]) -> "ProtocolLayer":
        """Return the packets at the layer that starts `size` bytes further on."""
        return ProtocolLayer(self.row, self.offset + size, self.captured - size, self.wire - size)

    def within(self, size: npt.NDArray[np.int64]) -> "ProtocolLayer":
        """Return the packets with the length that their header gives: padding is not content."""
        return ProtocolLayer(self.row, self.offset, np.minimum(self.captured, size), size)


def merged(parts: Sequence[ProtocolLayer]) -> ProtocolLayer:
    """Return packets that are at the same layer as one, in their order."""
    if len(parts) == 1:
        return parts[0]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return ProtocolLayer(*(column[order] for column in columns))


class Payloads(NamedTuple):
    """What some IP packets carry.

    Attributes:
        layer: the packets, each at its first byte behind the IP headers.
        protocol: IP protocol number of what is there (int64).
        source: number of the sender's address, see `AddressBook` (uint64).
        destination: number of the receiver's address (uint64).
        identity: what the fragments of one datagram share (int64).
        start: where a fragment lies in its datagram, in bytes (int64).
        more: whether more fragments of its datagram follow (bool).
    """

    layer: ProtocolLayer
    protocol: npt.NDArray[np.int64]
    source: npt.NDArray[np.uint64]
    destination: npt.NDArray[np.uint64]
    identity: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    more: npt.NDArray[np.bool_]

    def pick(self, chosen: npt.NDArray[np.bool_]) -> "Payloads":
        """Return the chosen payloads; the same object when all are."""
        if chosen.all():
            return self
        return Payloads(
            self.layer.pick(chosen),
            self.protocol[chosen],
            self.source[chosen],
            self.destination[chosen],
            self.identity[chosen],
            self.start[chosen],
            self.more[chosen],
        )

    def fragmented(self) -> npt.NDArray[np.bool_]:
        """Return which payloads are fragments of a datagram."""
        return self.more | (self.start > 0)


def joined(parts: Sequence[Payloads]) -> Payloads:
    """Return several payloads of one block as one, in the order of their packets."""
    if len(parts) == 1:
        return parts[0]
    parts = [_NOTHING, *parts]
    order = np.argsort(np.concatenate([part.layer.row for part in parts]), kind="stable")
    layers = zip(*(part.layer for part in parts), strict=True)
    columns = zip(*(part[1:] for part in parts), strict=True)
    layer = ProtocolLayer(*(np.concatenate(column)[order] for column in layers))
    return Payloads(layer, *(np.concatenate(column)[order] for column in columns))


_NO_NUMBER: Final = np.zeros(0, np.int64)
_NO_ADDRESS: Final = np.zeros(0, np.uint64)
_NOTHING: Final = Payloads(
    ProtocolLayer(_NO_NUMBER, _NO_NUMBER, _NO_NUMBER, _NO_NUMBER),
    _NO_NUMBER,
    _NO_ADDRESS,
    _NO_ADDRESS,
    _NO_NUMBER,
    _NO_NUMBER,
    _NO_NUMBER != 0,
)
