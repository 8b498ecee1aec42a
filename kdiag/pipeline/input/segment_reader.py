"""The TCP segments of a split, and those that a datagram begun in it brings later.

IP fragments of one datagram may lie in two splits. The datagram belongs to the split with its first
fragment: having read that, a reader goes on into the splits behind it for as long as datagrams
wait, a megabyte or so, and takes nothing else there.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from kdiag.errors import CaptureError
from kdiag.pcap.packets.index import PacketIndex, SegmentBatch
from kdiag.pipeline.input.split import Split, read_placed
from kdiag.pipeline.rows.packets import NOWHERE, Place


class TimeRange(NamedTuple):
    """Which packets are wanted, in nanoseconds since 1970; None where there is no limit.

    Attributes:
        from_ns: the first that is wanted.
        to_ns: the first that is not wanted any more.
    """

    from_ns: int | None = None
    to_ns: int | None = None


ALWAYS: Final = TimeRange()

_BEHIND_BYTES: Final = 1 << 20
_LEAST_HEADER_BYTES: Final = 20


class Stretch(NamedTuple):
    """A split to read.

    Attributes:
        split: what to read.
        behind: the splits that follow it in the run, as far as its datagrams may reach.
    """

    split: Split
    behind: list[Split]


def stretches(splits: Sequence[Split]) -> Iterator[Stretch]:
    """Yield the splits of a run, given in order, with those behind them."""
    for number, split in enumerate(splits):
        behind: list[Split] = []
        size = 0
        for each in splits[number + 1 :]:
            if size >= _BEHIND_BYTES:
                break
            behind.append(each)
            size += each.end - each.start
        yield Stretch(split, behind)


class SegmentReader:
    """Reads the segments of one split.

    Attributes:
        index: what finds the segments; its `addresses` are those of the segments.
        warning: what ended the reading early; empty if nothing did.
        place: where the block lies whose segments were yielded last, as of file 0.
    """

    def __init__(
        self, stretch: Stretch, times: TimeRange = ALWAYS, *, separates_networks: bool = False
    ) -> None:
        """Read nothing yet.

        Args:
            stretch: the split, and those behind it.
            times: which packets are wanted.
            separates_networks: as for `PacketIndex`.
        """
        self.index = PacketIndex(separates_networks=separates_networks)
        self.warning = ""
        self.place = NOWHERE
        self._split, self._behind = stretch
        self._times = times

    def read(self) -> Iterator[SegmentBatch]:
        """Yield the segments.

        Raises:
            CaptureError: the file cannot be opened.
        """
        if self._split.overlaps(*self._times):
            yield from self._read(self._split)
            self.index.defragmenter.is_closed = True
            for split in self._behind:
                if self.index.defragmenter.waiting:
                    yield from self._read(split)

    def _read(self, split: Split) -> Iterator[SegmentBatch]:
        self.index.packets = split.first_packet - 1
        is_own = split is self._split
        try:
            for position, block in read_placed(split):
                batch = self.index.index_block(block)
                is_placed = is_own and position is not None
                self.place = Place(0, position or 0, len(block.data)) if is_placed else NOWHERE
                # A datagram that was joined lies behind the block.
                first = 0 if is_own else len(block.data) + _LEAST_HEADER_BYTES
                yield self._chosen(batch, first)
                if not is_own and not self.index.defragmenter.waiting:
                    break
        except CaptureError as error:
            if is_own:
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
        columns: Any = (None if each is None else each[wanted] for each in batch[1:])
        return SegmentBatch(batch.data, *columns)
