"""Assigns connections to the parts of a run, so that all parts have about the same work.

One task decodes a connection. If the two connections with most of a capture's bytes were in one
part, one core would work and the others wait. So the walk through the captures samples blocks of
packets, and weighs their connections:

    weights     A 45, B 40, all others together 15
    3 parts     0: A     1: B     2: all others, as far as they fit

Heavy connections are assigned one by one, the heaviest first, each to the part that is the lightest
so far. A hash of the key divides all others into slots, which are assigned in the same way. The
rows of a connection do not depend on its part.
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
    """The weights of connections, in bytes; a packet counts for a thousand more than its own.

    Attributes:
        heaviest: those of the heaviest connections, by their keys.
        total: of all connections.
    """

    heaviest: dict[bytes, int] = {}
    total: int = 0


class WeightSampler:
    """Weighs the connections of a file by a sample of its blocks."""

    def __init__(self) -> None:
        self._blocks = 0
        self._total = 0
        self._weights: Counter[bytes] = Counter()

    def add(self, block: PacketBlock) -> None:
        """Add the next block of the file; one in eight is weighed."""
        if self._blocks % _SAMPLED == 0:
            self._weigh(block)
        self._blocks += 1

    @property
    def weights(self) -> Weights:
        """Return the weights in the sample."""
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


class Partitioner(NamedTuple):
    """Assigns connections to parts.

    Attributes:
        parts: how many there are.
        slots: the part of each slot.
        heavy: the parts of heavy connections, by their keys.
    """

    parts: int
    slots: tuple[int, ...]
    heavy: dict[bytes, int]

    def part_of(self, key: bytes) -> int:
        """Return the part of a connection."""
        part = self.heavy.get(key)
        return self.slots[crc32(key) % len(self.slots)] if part is None else part


def partition_evenly(parts: int) -> Partitioner:
    """Return a partitioner for connections of unknown weight."""
    return Partitioner(parts, tuple(range(parts)), {})


def partition_by_weight(parts: int, weights: Iterable[Weights]) -> Partitioner:
    """Return a partitioner into parts of about the same weight."""
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

    def assign(weight: float) -> int:
        before, part = lightest[0]
        heapreplace(lightest, (before + weight, part))
        return part

    ordered = sorted(heavy.items(), key=lambda item: (-item[1], item[0]))
    heavy_parts = {key: assign(weight) for key, weight in ordered}
    return Partitioner(parts, tuple(assign(slot_weight) for _ in range(slot_count)), heavy_parts)
