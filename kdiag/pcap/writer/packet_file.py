"""A capture file that chosen packets of blocks are written to: pcap, or pcapng.

A pcap has one link type. A pcapng gets an interface for each. Times are in nanoseconds in both.

Source: pcap-savefile(5); draft-ietf-opsawg-pcapng.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import Final

import numpy as np
import numpy.typing as npt

from kdiag.clock import NS_PER_S
from kdiag.errors import CaptureError
from kdiag.pcap.files.block import PacketBlock
from kdiag.pcap.writer.savefile import (
    PCAPNG_SUFFIX,
    CaptureFile,
    file_header,
    interface_block,
    section_header,
)

_SNAPLEN: Final = 262_144
_SNAPLEN_AT: Final = 16
_UINT32: Final = Struct("<I")
_PACKET: Final = 6
_PACKET_FRAME_BYTES: Final = 32


class PacketFile(CaptureFile):
    """A capture file of either kind; one that is not complete at the end is removed.

    Attributes:
        packets: how many were written.
    """

    def __init__(self, path: Path, *, is_private: bool = False) -> None:
        """Start a file, as `CaptureFile` does. It is a pcapng if its name ends with that."""
        super().__init__(path, is_private=is_private)
        self.packets = 0
        self._is_pcapng = path.suffix == PCAPNG_SUFFIX
        self._interfaces: dict[int, int] = {}
        self._largest = 0
        if self._is_pcapng:
            self._write(section_header())

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
            return
        with suppress(OSError):
            self._file.close()
        if self._path.is_file():
            self._path.unlink(missing_ok=True)

    def write(
        self, block: PacketBlock, rows: npt.NDArray[np.int64], changed: Mapping[int, bytes]
    ) -> None:
        """Append packets of a block.

        Args:
            block: the packets.
            rows: those to write, in order.
            changed: the bytes of packets, by row, that are written in the place of the block's.
        """
        if not len(rows):
            return
        interfaces = self._interfaces_of(block.link_type[rows])
        headers = self._headers(block, rows, interfaces)
        width = headers.shape[1] * _UINT32.size
        head, data = headers.astype("<u4").tobytes(), block.data.data
        offsets, sizes = block.offset[rows].tolist(), block.captured[rows].tolist()
        pieces: list[bytes | memoryview] = []
        for at, row in enumerate(rows.tolist()):
            pieces.append(head[at * width : (at + 1) * width])
            size = sizes[at]
            pieces.append(changed.get(row) or data[offsets[at] : offsets[at] + size])
            if self._is_pcapng:
                pieces.append(
                    bytes(-size % 4) + _UINT32.pack(size + -size % 4 + _PACKET_FRAME_BYTES)
                )
        self._write(b"".join(pieces))
        self.packets += len(rows)
        self._largest = max(self._largest, *sizes)

    def close(self) -> None:
        """Finish the file, and close it."""
        if not self._is_pcapng:
            if not self._interfaces:
                self._write(file_header(1))  # readers take no file without a header
            elif self._largest > _SNAPLEN:
                self._file.seek(_SNAPLEN_AT)
                self._write(_UINT32.pack(self._largest))
        super().close()

    def _interfaces_of(self, link_types: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the number of each packet's interface, and write the headers of new ones."""
        numbers = np.zeros(len(link_types), np.int64)
        for link_type in np.flatnonzero(np.bincount(link_types)).tolist():
            if link_type not in self._interfaces:
                self._add_interface(link_type)
            numbers[link_types == link_type] = self._interfaces[link_type]
        return numbers

    def _add_interface(self, link_type: int) -> None:
        self._interfaces[link_type] = number = len(self._interfaces)
        if self._is_pcapng:
            self._write(interface_block(link_type))
        elif not number:
            self._write(file_header(link_type))
        else:
            types = " and ".join(map(str, self._interfaces))
            why = f"packets of link types {types} do not fit into one pcap: give it a name that"
            raise CaptureError(str(self._path), f"{why} ends with {PCAPNG_SUFFIX}")

    def _headers(
        self,
        block: PacketBlock,
        rows: npt.NDArray[np.int64],
        interfaces: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.int64]:
        """Return the headers of packets, as rows of numbers of 32 bits."""
        time_ns, captured = block.time_ns[rows], block.captured[rows]
        original = block.original[rows]
        if not self._is_pcapng:
            return pcap_headers(time_ns, captured, original)
        size = captured + -captured % 4 + _PACKET_FRAME_BYTES
        kind = np.full(len(rows), _PACKET)
        high, low = time_ns >> 32, time_ns & 0xFFFFFFFF
        return np.column_stack([kind, size, interfaces, high, low, captured, original])


def pcap_headers(
    time_ns: npt.NDArray[np.int64], captured: npt.NDArray[np.int64], original: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the headers of packets in a pcap with nanoseconds, as rows of numbers of 32 bits."""
    seconds, rest = np.divmod(time_ns, NS_PER_S)
    return np.column_stack([seconds, rest, captured, original])
