"""The TCP segments of a split, including those of datagrams that end after it.

IP fragments of one datagram may lie in two splits. The datagram belongs to the split with its first
fragment. So after its split a reader goes on into the next ones while datagrams are incomplete, at
most about a megabyte, and ignores everything else there.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from kdiag.clock import ALWAYS, TimeRange
from kdiag.errors import CaptureError
from kdiag.pcap.packets.index import PacketIndex, SegmentBatch
from kdiag.pipeline.input.split import Split, read_positioned
from kdiag.pipeline.rows.packets import NOWHERE, BlockPosition

_AFTER_BYTES: Final = 1 << 20
_LEAST_HEADER_BYTES: Final = 20


class SplitRun(NamedTuple):
    """A split to read, with the splits after it.

    Attributes:
        splits: of the run, in order.
        number: which of them to read.
    """

    splits: Sequence[Split]
    number: int

    @property
    def split(self) -> Split:
        """Return the split to read."""
        return self.splits[self.number]

    @property
    def end(self) -> int:
        """Return the number after the last split that its datagrams may reach."""
        end, size = self.number + 1, 0
        while end < len(self.splits) and size < _AFTER_BYTES:
            size += self.splits[end].end - self.splits[end].start
            end += 1
        return end


class SegmentReader:
    """Reads the segments of one split.

    Attributes:
        index: finds the segments; its `addresses` are those of the segments.
        warning: the error that ended the reading early; empty without one.
        position: of the block whose segments were yielded last, as of file 0.
    """

    def __init__(
        self, split_run: SplitRun, times: TimeRange = ALWAYS, *, separates_networks: bool = False
    ) -> None:
        """Read nothing yet.

        Args:
            split_run: the split, and those after it.
            times: of the wanted packets.
            separates_networks: as for `PacketIndex`.
        """
        self.index = PacketIndex(separates_networks=separates_networks)
        self.warning = ""
        self.position = NOWHERE
        self._run = split_run
        self._split = split_run.split
        self._times = times

    def read(self) -> Iterator[SegmentBatch]:
        """Yield the segments.

        Raises:
            CaptureError: if the file cannot be opened.
        """
        if self._split.overlaps(*self._times):
            yield from self._read(self._split)
            self.index.defragmenter.is_closed = True
            for number in range(self._run.number + 1, self._run.end):
                if self.index.defragmenter.waiting:
                    yield from self._read(self._run.splits[number])

    def _read(self, split: Split) -> Iterator[SegmentBatch]:
        self.index.packets = split.first_packet - 1
        is_own = split is self._split
        try:
            for start, block in read_positioned(split):
                batch = self.index.index_block(block)
                has_position = is_own and start is not None
                self.position = (
                    BlockPosition(0, start or 0, len(block.data)) if has_position else NOWHERE
                )
                # A joined datagram lies after the block in its data.
                first = 0 if is_own else len(block.data) + _LEAST_HEADER_BYTES
                yield self._chosen(batch, first)
                if not is_own and not self.index.defragmenter.waiting:
                    break
        except CaptureError as error:
            if is_own:
                self.warning = str(error)

    def _chosen(self, batch: SegmentBatch, first_offset: int) -> SegmentBatch:
        """Return the segments of wanted packets whose payload lies after an offset."""
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
        columns: Any = (None if each is None else each[wanted] for each in batch[1:])
        return SegmentBatch(batch.data, *columns)
