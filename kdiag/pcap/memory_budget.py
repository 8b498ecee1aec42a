"""The bounds of a run: of each part of a connection, and one budget of memory for all of them.

Every part of a connection has bounds of its own, but there may be any number of connections. What
they hold in all is measured seldom: it cannot grow by more than what is read, so the next time is
when the bytes read since could have filled the budget.

    budget 512 MB; measured 12 MB      next time after 500 MB more
    budget 512 MB; measured 540 MB     the oldest are given up until no more than 384 MB are held

The oldest are those whose last packet is longest ago. Who holds little is spared: one that holds
less than half the average cannot be the cause.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol, TypeVar

import msgspec
import numpy as np

from kdiag.pcap.kafka.matching import DEFAULT_MAX_OUTSTANDING, DEFAULT_MAX_OUTSTANDING_BYTES
from kdiag.pcap.kafka.resync import DEFAULT_MAX_SEARCH_BYTES
from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pcap.tcp.reassembly import DEFAULT_MAX_WAITING_BYTES
from kdiag.pcap.tcp.silence import DEFAULT_IDLE_NS
from kdiag.pcap.tcp.sorted_batch import SYN
from kdiag.wire.frame import DEFAULT_MAX_FRAME_BYTES

DEFAULT_MAX_MEMORY_BYTES: Final = 512 << 20
CONNECTION_BYTES: Final = 3_300
"""What a connection takes that holds no bytes at all; measured."""

FOLLOWED_CONNECTION_BYTES: Final = 12_000
"""The same of one with a SYN whose TCP is followed."""

_SHARE: Final = 8
_LEAST_PART_ROWS: Final = 512
_PACKET_BYTES: Final = 300  # what keeping a packet costs beside its payload
_COPIES: Final = 3  # a search keeps the bytes it looks at twice, and grows in steps
_LEFT: Final = 0.75


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of a decoder's memory; the defaults suit captures of any size.

    Attributes:
        max_frame_bytes: the largest size that a frame may state (Kafka's own default).
        max_waiting_bytes: how much of one direction may wait for bytes that come out of order.
        max_search_bytes: how much of one direction is kept while searching for a frame.
        max_outstanding: requests of one connection that may wait for their responses.
        max_outstanding_bytes: their bytes.
        max_memory_bytes: how much all connections may hold together; beyond, the oldest are ended.
        idle_ns: how long a connection may be silent before it is ended; 0 for ever.
    """

    max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES
    max_waiting_bytes: int = DEFAULT_MAX_WAITING_BYTES
    max_search_bytes: int = DEFAULT_MAX_SEARCH_BYTES
    max_outstanding: int = DEFAULT_MAX_OUTSTANDING
    max_outstanding_bytes: int = DEFAULT_MAX_OUTSTANDING_BYTES
    max_memory_bytes: int = DEFAULT_MAX_MEMORY_BYTES
    idle_ns: int = DEFAULT_IDLE_NS


DEFAULT_LIMITS: Final = Limits()


class Holder(Protocol):
    """Something that holds memory."""

    @property
    def held_bytes(self) -> int:
        """Return how much, roughly."""
        ...

    @property
    def last_ns(self) -> int:
        """Return when it was fed last, since 1970."""
        ...


AnyHolder = TypeVar("AnyHolder", bound=Holder)


class MemoryBudget:
    """Says which connections must be given up, so that all together hold no more than a budget.

    Attributes:
        max_bytes: the budget.
        connection_bytes: what a connection may take that has just begun.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.connection_bytes = CONNECTION_BYTES
        self._measured_bytes = 0
        self._measured_count = 0
        self._fed_bytes = 0

    @property
    def share_bytes(self) -> int:
        """Return the part of the budget for each kind of what ended connections leave."""
        return self.max_bytes // _SHARE

    def parts(self, batch: SegmentBatch) -> Iterator[SegmentBatch]:
        """Yield a batch in parts: the connections that begin in each take a share of the budget.

        The budget is looked at between them, and a flood of SYNs begins 30,000 in one batch.
        """
        begin = int(np.count_nonzero(batch.flags & SYN))
        if begin * self.connection_bytes <= self.share_bytes:
            return iter((batch,))
        return batch.parts(max(_LEAST_PART_ROWS, self.share_bytes // self.connection_bytes))

    def may_be_exceeded(self, packets: int, payload_bytes: int, connections: int) -> bool:
        """Add what was read; return whether it is time to measure.

        Args:
            packets: how many were read.
            payload_bytes: the bytes in them.
            connections: how many there are now.
        """
        self._fed_bytes += packets * _PACKET_BYTES + payload_bytes * _COPIES
        new = max(0, connections - self._measured_count) * self.connection_bytes
        return self._measured_bytes + self._fed_bytes + new > self.max_bytes

    def room_bytes(self, holders: Iterable[Holder]) -> int:
        """Measure; return what is left of the budget for other things than connections."""
        return max(0, self.max_bytes - sum(each.held_bytes for each in holders))

    def overdue(self, holders: Sequence[AnyHolder], remembered_bytes: int = 0) -> list[AnyHolder]:
        """Measure; return which are to be given up, the oldest first.

        Args:
            holders: all that there are.
            remembered_bytes: what those have left that were ended before.
        """
        held = [each.held_bytes for each in holders]
        total = sum(held) + remembered_bytes
        found = []
        if total > self.max_bytes:
            least = sum(held) // (2 * max(1, len(held)))
            large = [pair for pair in zip(holders, held, strict=True) if pair[1] >= least]
            for holder, size in sorted(large, key=lambda pair: pair[0].last_ns):
                if total <= self.max_bytes * _LEFT:
                    break
                found.append(holder)
                total -= size
        self._measured_bytes, self._fed_bytes = total, 0
        self._measured_count = len(held) - len(found)
        return found
