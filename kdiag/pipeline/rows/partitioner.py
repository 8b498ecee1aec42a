"""Which part of a run a connection belongs to, so that all parts have about the same to do.

A connection is taken apart in one task. If the two that have most of a capture's bytes came into
one part, one core would work and the others wait. So the walk through the captures looks at a block
of packets here and there, and weighs their connections:

    weights     A 45, B 40, all others together 15
    3 parts     0: A     1: B     2: all others, as far as they fit

Those that weigh something are placed one by one, the heaviest first, each into the part that is the
lightest so far. All others are divided by a hash of their key into slots, and these are placed in
the same way. Wherever a connection comes, its rows are the same.
"""

from collections import Counter
from collections.abc import Iterable
from heapq import heapify, heapreplace
from typing import Final, NamedTuple
from zlib import crc32

import msgspec
import numpy as np

from kdiag.pcap.files.block import PacketBlock
from kdiag.pcap.packets.index import PacketIndex
from kdiag.pipeline.rows.packets import PacketRows

_SAMPLED: Final = 8
_PACKET_WEIGHT: Final = 1000
_MOST_WEIGHED: Final = 4096
_MOST_HEAVY: Final = 256
_SLOTS_OF_A_PART: Final = 32


class Weights(msgspec.Struct):
    """What connections have to do, in bytes; a packet counts for a thousand on top of its own.

    Attributes:
        heaviest: the heaviest connections, by their keys.
        total: what all have together.
    """

    heaviest: dict[bytes, int] = {}
    total: int = 0


class Scale:
    """Weighs the connections of a file by some of its blocks."""

    def __init__(self) -> None:
        self._blocks = 0
        self._total = 0
        self._weights: Counter[bytes] = Counter()

    def take(self, block: PacketBlock) -> None:
        """Take the next block of the file, of which not every one is looked at."""
        if self._blocks % _SAMPLED == 0:
            self._weigh(block)
        self._blocks += 1

    @property
    def weights(self) -> Weights:
        """Return what was found, for as much as was looked at."""
        return Weights(dict(self._weights.most_common(_MOST_HEAVY)), self._total)

    def _weigh(self, block: PacketBlock) -> None:
        index = PacketIndex()
        segments = index.index_block(block)
        keys, connection = PacketRows(index.addresses).keys(segments)
        weights = np.bincount(connection, segments.payload_bytes + _PACKET_WEIGHT)
        for key, weight in zip(keys, weights.tolist(), strict=True):
            self._weights[key] += int(weight)
        self._total += int(weights.sum())
        if len(self._weights) > _MOST_WEIGHED:
            self._weights = Counter(dict(self._weights.most_common(_MOST_WEIGHED // 2)))


class Division(NamedTuple):
    """The parts of a run.

    Attributes:
        parts: how many there are.
        slots: the part of each slot.
        heavy: the parts of the connections that have one of their own choice, by their keys.
    """

    parts: int
    slots: tuple[int, ...]
    heavy: dict[bytes, int]

    def part_of(self, key: bytes) -> int:
        """Return the part of a connection."""
        part = self.heavy.get(key)
        return self.slots[crc32(key) % len(self.slots)] if part is None else part


def divide_evenly(parts: int) -> Division:
    """Return so many parts for connections of which nothing is known."""
    return Division(parts, tuple(range(parts)), {})


def divide(parts: int, weights: Iterable[Weights]) -> Division:
    """Return so many parts of about the same weight."""
    sums: Counter[bytes] = Counter()
    total = 0
    for each in weights:
        sums.update(each.heaviest)
        total += each.total
    slot_count = parts * _SLOTS_OF_A_PART
    heavy = {key: weight for key, weight in sums.items() if weight * slot_count > total}
    slot_weight = max(1, total - sum(heavy.values())) / slot_count
    lightest = [(0.0, part) for part in range(parts)]
    heapify(lightest)

    def place(weight: float) -> int:
        before, part = lightest[0]
        heapreplace(lightest, (before + weight, part))
        return part

    ordered = sorted(heavy.items(), key=lambda item: (-item[1], item[0]))
    places = {key: place(weight) for key, weight in ordered}
    return Division(parts, tuple(place(slot_weight) for _ in range(slot_count)), places)
