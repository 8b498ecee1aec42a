"""Packets that are in more than one input: a capture given twice, or captures cut from one.

    all.pcap     12:00:01.000001 AB   12:00:01.000007 CD   12:00:01.000007 CD
    part.pcap                         12:00:01.000007 CD  passed over

A packet of another input is the same one if its time, its length on the wire and its bytes are. Two
equal packets of one input, as two interfaces give them, stay two.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from kdiag.pcap.files.block import PacketBlock

_MOST_KNOWN: Final = 1 << 16

Integers = npt.NDArray[np.int64]


class RepeatedPackets:
    """Finds the packets that were in another input already.

    Attributes:
        count: how many there were.
        first: the numbers of the two inputs that have the first of them; None without any.
    """

    def __init__(self) -> None:
        """Begin before the first packet."""
        self.count = 0
        self.first: tuple[int, int] | None = None
        self._time_ns = -1
        self._counts: dict[tuple[int, int], int] = {}
        self._kept: dict[int, list[int]] = {}

    def without(self, block: PacketBlock, order_ns: Integers, number: Integers) -> PacketBlock:
        """Return merged packets without those that are repeated.

        Args:
            block: the packets.
            order_ns: the times that put them in order.
            number: of the input of each.
        """
        is_new_time = np.append(True, order_ns[1:] != order_ns[:-1])
        group = np.cumsum(is_new_time) - 1
        is_shared = np.zeros(int(group[-1]) + 1, np.bool_)
        is_shared[group[1:][~is_new_time[1:] & (number[1:] != number[:-1])]] = True
        is_shared[-1] = True  # the next packets may have the same time
        is_shared[0] |= int(order_ns[0]) == self._time_ns
        repeated = [
            row
            for row in np.flatnonzero(is_shared[group])
            if self._is_repeated(block, int(row), int(order_ns[row]), int(number[row]))
        ]
        if not repeated:
            return block
        self.count += len(repeated)
        is_kept = np.ones(len(group), np.bool_)
        is_kept[repeated] = False
        return PacketBlock(block.data, *(column[is_kept] for column in block[1:]))

    def _is_repeated(self, block: PacketBlock, row: int, order_ns: int, number: int) -> bool:
        if order_ns != self._time_ns or len(self._counts) > _MOST_KNOWN:
            self._time_ns = order_ns
            self._counts.clear()
            self._kept.clear()
        start = int(block.offset[row])
        about = b"%d %d " % (int(block.time_ns[row]), int(block.original[row]))
        data = block.data[start : start + int(block.captured[row])]
        digest = hash(about + data.tobytes())  # SipHash of 64 bits: it keeps no packet
        count = self._counts[digest, number] = self._counts.get((digest, number), 0) + 1
        kept = self._kept.setdefault(digest, [])
        if count > len(kept):
            kept.append(number)
            return False
        self.first = self.first or (kept[count - 1], number)
        return True
