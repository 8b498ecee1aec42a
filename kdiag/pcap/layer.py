"""Packets seen from one protocol layer: where its header starts and how much follows."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Layer(NamedTuple):
    """Some packets of a block, each at the start of one layer's header.

    Attributes:
        row: the packet's index in its block (int64), ascending.
        offset: where the layer's header starts in the block's data (int64).
        captured: bytes from there on that are in the data (int64).
        wire: bytes from there on that were on the wire (int64).
    """

    row: npt.NDArray[np.int64]
    offset: npt.NDArray[np.int64]
    captured: npt.NDArray[np.int64]
    wire: npt.NDArray[np.int64]

    def pick(self, chosen: npt.NDArray[np.bool_]) -> "Layer":
        """Return the chosen packets; the same object when all are."""
        return self if chosen.all() else Layer(*(column[chosen] for column in self))

    def skip(self, size: int | npt.NDArray[np.int64]) -> "Layer":
        """Return the packets at the layer that starts `size` bytes further on."""
        return Layer(self.row, self.offset + size, self.captured - size, self.wire - size)


class Transport(NamedTuple):
    """IP payloads of some packets: their layer, and what the IP header says of them.

    Attributes:
        layer: the packets, at the start of the transport header.
        protocol: IP protocol number (uint8).
        source: number of the sender's address, see `AddressBook` (uint64).
        destination: number of the receiver's address (uint64).
    """

    layer: Layer
    protocol: npt.NDArray[np.uint8]
    source: npt.NDArray[np.uint64]
    destination: npt.NDArray[np.uint64]

    def pick(self, chosen: npt.NDArray[np.bool_]) -> "Transport":
        """Return the chosen packets; the same object when all are."""
        if chosen.all():
            return self
        return Transport(
            self.layer.pick(chosen),
            self.protocol[chosen],
            self.source[chosen],
            self.destination[chosen],
        )
