"""Packets that a recorder wrote some milliseconds late, put in the order of their times.

Two ports of a bond, or the queues of one card, give their packets in turns, each with its own time:

    file     1.0 ms A    2.0 ms B    1.4 ms A    2.2 ms A    1.9 ms B
    read     1.0 ms A    1.4 ms A    1.9 ms B    2.0 ms B    2.2 ms A

Read as they are written, acknowledgments come before what they acknowledge, and answers before
their requests. A clock that was set back goes back by more (NTP slews what is less than 128 ms):
then the order in the file is the true one, and stays.
"""

from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from kdiag.clock import NS_PER_MS
from kdiag.pcap.files.block import PacketBlock, joined

MAX_LATE_NS: Final = 50 * NS_PER_MS
"""A packet that is later was not written late: its clock is another one, or was set."""

_MAX_JUMPS: Final = 16

Integers = npt.NDArray[np.int64]


class TimeOrder:
    """Puts the packets of inputs in the order of their times.

    Attributes:
        late: how many packets stood behind one with a later time and were moved.
        late_ns: by how much, at most.
    """

    def __init__(self) -> None:
        """Begin before the first packet."""
        self.late = 0
        self.late_ns = 0

    def sorted(
        self, blocks: Iterator[PacketBlock], *, is_live: bool = False
    ) -> Iterator[PacketBlock]:
        """Yield the packets of an input; in blocks as they come until a time has gone back.

        Args:
            blocks: the packets.
            is_live: whether blocks must not wait for later ones, before which late packets of
                these belong: then the first late packets stay where they are.
        """
        waiting: deque[PacketBlock] = deque()
        latest_ns = 0
        is_sorting = False
        for block in blocks:
            times = block.time_ns
            if not len(times):
                continue
            goes_back = bool(times[0] < latest_ns or (times[1:] < times[:-1]).any())
            is_sorting = is_sorting or goes_back
            latest_ns = max(latest_ns, int(times.max()))
            waiting.append(block)
            if is_sorting:
                block, ready = self._sort(joined([*waiting]))  # noqa: PLW2901 - the same packets
                waiting.clear()
                if ready:
                    yield block.first(ready)
                if ready < len(block.time_ns):
                    waiting.append(joined([block.between(ready, len(block.time_ns))]))
                continue
            while waiting and (is_live or waiting[0].time_ns[-1] < latest_ns - MAX_LATE_NS):
                yield waiting.popleft()
        yield from waiting

    def _sort(self, block: PacketBlock) -> tuple[PacketBlock, int]:
        """Return a block in order, and how many of its packets no later block comes before."""
        times = block.time_ns
        starts = _spans_of_one_clock(times)
        if starts is None:
            return block, len(times)
        orders = []
        for start, stop in pairwise([*starts, len(times)]):
            late_ns = np.maximum.accumulate(times[start:stop]) - times[start:stop]
            self.late += int(np.count_nonzero(late_ns))
            self.late_ns = max(self.late_ns, int(late_ns.max()))
            orders.append(np.argsort(times[start:stop], kind="stable") + start)
        order = np.concatenate(orders)
        block = PacketBlock(block.data, *(column[order] for column in block[1:]))
        last = block.time_ns[starts[-1] :]
        return block, starts[-1] + int(np.searchsorted(last, last[-1] - MAX_LATE_NS))


def _spans_of_one_clock(times: Integers) -> list[int] | None:
    """Return where times go back by more than a packet may be late; None if that is often."""
    starts = [0]
    while len(starts) <= _MAX_JUMPS:
        rest = times[starts[-1] :]
        is_jump = rest < np.maximum.accumulate(rest) - MAX_LATE_NS
        if not is_jump.any():
            return starts
        starts.append(starts[-1] + int(is_jump.argmax()))
    return None
