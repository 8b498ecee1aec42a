"""Capture files in, columns of TCP segments out."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from kdiag.errors import CaptureError
from kdiag.pcap.address import AddressBook
from kdiag.pcap.file import open_window
from kdiag.pcap.packet import PacketIndex, SegmentBatch
from kdiag.pcap.savefile import read_blocks


class CaptureReader:
    """Reads captures, one after the other, as one run.

    Attributes:
        warnings: what ended an input early; everything before it was delivered.
    """

    def __init__(self, sources: Sequence[str | Path]) -> None:
        self.warnings: list[CaptureError] = []
        self.index = PacketIndex()
        self._sources = list(sources)

    @property
    def addresses(self) -> AddressBook:
        """Turns the endpoints of the segments into text."""
        return self.index.addresses

    @property
    def packets(self) -> int:
        """Packets read so far; the number of the last one."""
        return self.index.packets

    def read_segments(self) -> Iterator[SegmentBatch]:
        """Yield the TCP segments of all inputs, a block at a time."""
        for source in self._sources:
            window = open_window(source)
            window.advance(0)
            try:
                for block in read_blocks(window):
                    yield self.index.index_block(block)
            except CaptureError as error:
                self.warnings.append(error)
