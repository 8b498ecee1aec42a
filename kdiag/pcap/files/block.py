"""Blocks of packets as columns: every capture format is read into them."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

MAX_PACKET_BYTES: Final = 16 << 20
"""Larger packets, and larger blocks of pcapng, count as damage."""


class PacketBlock(NamedTuple):
    """Whole packets that lie in one buffer, as columns of equal length, in file order.

    Attributes:
        data: the buffer; a packet is `data[offset : offset + captured]`.
        offset: where the packet's first byte lies in `data` (int64).
        captured: bytes of the packet in `data` (int64).
        original: bytes of the packet on the wire, more than `captured` when it was cut (int64).
        time_ns: when it was captured, since 1970 (int64).
        link_type: the LINKTYPE_ value of the interface (int64).
        interface: number of the interface in its file or pcapng section, from 0 (int64).
    """

    data: npt.NDArray[np.uint8]
    offset: npt.NDArray[np.int64]
    captured: npt.NDArray[np.int64]
    original: npt.NDArray[np.int64]
    time_ns: npt.NDArray[np.int64]
    link_type: npt.NDArray[np.int64]
    interface: npt.NDArray[np.int64]

    def first(self, count: int) -> "PacketBlock":
        """Return the first packets alone."""
        return self.between(0, count)

    def between(self, first: int, last: int) -> "PacketBlock":
        """Return the packets from `first` on, up to `last`, which is not one of them."""
        return PacketBlock(self.data, *(column[first:last] for column in self[1:]))


def joined(
    blocks: Sequence[PacketBlock], order: npt.NDArray[np.int64] | None = None
) -> PacketBlock:
    """Return copies of blocks that have packets as one.

    Args:
        blocks: the blocks.
        order: the new order of all their packets; None for theirs.
    """
    pieces: list[npt.NDArray[np.uint8]] = []
    offsets: list[npt.NDArray[np.int64]] = []
    size = 0
    for block in blocks:
        start, end = int(block.offset.min()), int((block.offset + block.captured).max())
        pieces.append(block.data[start:end])
        offsets.append(block.offset + (size - start))
        size += end - start
    columns = [np.concatenate(offsets)]
    columns += [np.concatenate([block[at] for block in blocks]) for at in range(2, 7)]
    if order is not None:
        columns = [column[order] for column in columns]
    return PacketBlock(np.concatenate(pieces), *columns)


def gather(
    data: npt.NDArray[np.uint8], offset: npt.NDArray[np.int64], shape: np.dtype[np.void]
) -> npt.NDArray[np.void]:
    """Return one structure read at each offset, packed or not, aligned or not.

    The caller has checked that every structure lies inside `data`.
    """
    count = max(len(data) - shape.itemsize + 1, 0)
    return np.ndarray((count,), shape, data, 0, (1,))[offset]


# numpy's own `unique` and `isin` are made for many values, and import `numpy.ma` on first use.


def distinct(column: npt.NDArray[np.int64]) -> list[int]:
    """Return the values of a column that has few of them, in the order of their first rows."""
    values = []
    while len(column):
        values.append(int(column[0]))
        column = column[column != column[0]]
    return values


def is_any(column: npt.NDArray[np.integer], values: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Return in which rows a column has one of a few values."""
    found = np.zeros(len(column), np.bool_)
    for value in values:
        found |= column == value
    return found
