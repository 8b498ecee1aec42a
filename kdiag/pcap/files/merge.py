"""Inputs that overlap in time, merged: their packets in the order in which they were captured.

Each input keeps its own order, whatever its timestamps say; between inputs, time decides. An input
is opened when the time of its first packet is reached, so that of a rotated set one is open, and
blocks are passed on as they are. Where inputs overlap, what all of them have reached is merged:

    a   |--- block ---------|--- block ---
    b        |--- block --------|--- block ---
        |   a and b merged  |            the rest of b's block waits for the next one of a
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from kdiag.pcap.files.block import PacketBlock, joined
from kdiag.pcap.files.repeats import RepeatedPackets

MAX_MERGED: Final = 256
"""So many inputs are open at a time; more that overlap follow when one of these has ended."""


_Part = tuple[PacketBlock, npt.NDArray[np.int64], int]
"""Packets of an input, the times that put them in order, and the number of the input."""


class TimedInput(NamedTuple):
    """An input that was not opened yet.

    Attributes:
        first_ns: when its first packet was captured; infinity for one that is read on its own.
        read: opens it and yields its packets; is told which one of those that are open it is.
    """

    first_ns: float
    read: Callable[[int], Iterator[PacketBlock]]


class _OpenInput:
    """An input that is being read, with the packets that were not passed on yet.

    Attributes:
        number: of the input, from 0.
        last_ns: how far in time it has been read; the time of a packet counts as that of an earlier
            one of the same input if that was later.
    """

    def __init__(self, blocks: Iterator[PacketBlock], number: int) -> None:
        self.last_ns = 0
        self.number = number
        self._blocks = blocks
        self._block: PacketBlock | None = None
        self._order_ns: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._first = 0

    def fill(self) -> bool:
        """Read on if nothing is left; return whether there is something."""
        while self._block is None:
            block = next(self._blocks, None)
            if block is None:
                return False
            if len(block.time_ns):
                self._start(block)
        return True

    def pop_all(self) -> PacketBlock:
        """Return what is left."""
        return self.pop_until(self.last_ns)[0]

    def pop_until(self, time_ns: float) -> tuple[PacketBlock, npt.NDArray[np.int64]]:
        """Return the packets up to a time, and the times that give them their order."""
        assert self._block is not None
        block, first = self._block, self._first
        last = int(np.searchsorted(self._order_ns, time_ns, "right"))
        self._first = last
        if last == len(self._order_ns):
            self._block = None
        return block.between(first, last), self._order_ns[first:last]

    def _start(self, block: PacketBlock) -> None:
        times = block.time_ns
        if self.last_ns:
            times = np.maximum(times, self.last_ns)
        self._block, self._first = block, 0
        self._order_ns = np.maximum.accumulate(times)
        self.last_ns = int(self._order_ns[-1])


def merge_inputs(
    inputs: Sequence[TimedInput],
    on_crowd: Callable[[], None] = lambda: None,
    repeats: RepeatedPackets | None = None,
) -> Iterator[PacketBlock]:
    """Yield the packets of inputs in the order of time.

    Args:
        inputs: in the order of their first packets.
        on_crowd: called once if more than `MAX_MERGED` inputs overlap, so that the order is not
            that of time everywhere.
        repeats: finds the packets that are in more than one input, which are yielded once; None to
            yield all.
    """
    waiting = deque(enumerate(inputs))
    opened: list[_OpenInput] = []
    is_crowd = False
    while opened or waiting:
        if not opened:
            number, first = waiting.popleft()
            opened.append(_OpenInput(first.read(0), number))
        opened = [each for each in opened if each.fill()]
        reached_ns = min((each.last_ns for each in opened), default=0)
        while opened and waiting and waiting[0][1].first_ns <= reached_ns:
            if len(opened) >= MAX_MERGED:
                if not is_crowd:
                    on_crowd()
                is_crowd = True
                break
            number, following = waiting.popleft()
            follower = _OpenInput(following.read(len(opened)), number)
            if follower.fill():
                opened.append(follower)
                reached_ns = min(reached_ns, follower.last_ns)
        if len(opened) == 1:
            yield opened[0].pop_all()
        elif opened:
            parts = [(*each.pop_until(reached_ns), each.number) for each in opened]
            yield _merged([part for part in parts if len(part[1])], repeats)


def _merged(parts: Sequence[_Part], repeats: RepeatedPackets | None) -> PacketBlock:
    """Return blocks as one, in the order of given times; of packets at one time, in theirs."""
    blocks = [block for block, _, _ in parts]
    order_ns = np.concatenate([times for _, times, _ in parts])
    order = np.argsort(order_ns, kind="stable")
    merged = blocks[0] if len(blocks) == 1 else joined(blocks, order)
    if repeats is None:
        return merged
    number = np.repeat([number for _, _, number in parts], [len(times) for _, times, _ in parts])
    return repeats.without(merged, order_ns[order], number[order])
