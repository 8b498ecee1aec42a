"""The TCP segments of a split, and those that a datagram begun in it brings later.

IP fragments of one datagram may lie in two splits. The datagram belongs to the split with its first
fragment: having read that, a reader goes on into the split behind it for as long as datagrams wait,
and takes nothing else there.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from kdiag.errors import CaptureError
from kdiag.pcap.packet import PacketIndex, SegmentBatch
from kdiag.pipeline.split import Split, read_split


class TimeRange(NamedTuple):
    """Which packets are wanted, in nanoseconds since 1970; None where there is no limit.

    Attributes:
        from_ns: the first that is wanted.
        to_ns: the first that is not wanted any more.
    """

    from_ns: int | None = None
    to_ns: int | None = None


ALWAYS = TimeRange()


class SegmentReader:
    """Reads the segments of one split.

    Attributes:
        index: what finds the segments; its `addresses` are those of the segments.
        warning: what ended the reading early; empty if nothing did.
    """

    def __init__(self, split: Split, after: Split | None, times: TimeRange = ALWAYS) -> None:
        """Read nothing yet.

        Args:
            split: what to read.
            after: the split that follows it in the run.
            times: which packets are wanted.
        """
        self.index = PacketIndex()
        self.warning = ""
        self._split = split
        self._after = after
        self._times = times

    def read(self) -> Iterator[SegmentBatch]:
        """Yield the segments.

        Raises:
            CaptureError: the file cannot be opened.
        """
        if self._split.overlaps(*self._times):
            yield from self._read(self._split)
            if self.index.defragmenter.waiting and self._after is not None:
                self.index.defragmenter.is_closed = True
                yield from self._read(self._after)

    def _read(self, split: Split) -> Iterator[SegmentBatch]:
        self.index.packets = split.first_packet - 1
        blocks = read_split(split)
        is_own = split is self._split
        try:
            for block in blocks:
                batch = self.index.index_block(block)
                yield self._chosen(batch, 0 if is_own else len(block.data))
                if not is_own and not self.index.defragmenter.waiting:
                    break
        except CaptureError as error:
            self.warning = str(error)

    def _chosen(self, batch: SegmentBatch, first_offset: int) -> SegmentBatch:
        """Return the segments of wanted packets whose payload lies behind a place."""
        from_ns, to_ns = self._times
        wanted = np.ones(len(batch.packet), np.bool_)
        if from_ns is not None:
            wanted &= batch.time_ns >= from_ns
        if to_ns is not None:
            wanted &= batch.time_ns < to_ns
        if first_offset:
            wanted &= batch.payload_offset >= first_offset
        if wanted.all():
            return batch
        columns: Any = (column[wanted] for column in batch[1:])
        return SegmentBatch(batch.data, *columns)
