"""A network interface as a source of packets: the kernel's own ring buffer, read block by block.

The kernel writes packets into a ring of memory shared with this process (AF_PACKET, TPACKET_V3) and
hands over a block when it is full or a tenth of a second old. A block becomes the same columns that
a capture file gives, so a live interface and a file are decoded by the same code. What does not
fit while this process is busy is dropped by the kernel and counted: `LiveCapture.dropped`.

Linux only; needs root or the capability CAP_NET_RAW.

Source: Linux `Documentation/networking/packet_mmap.rst` and `include/uapi/linux/if_packet.h`.
"""

import mmap
import selectors
import socket
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Final, Self

import numpy as np

from kdiag.errors import CaptureError
from kdiag.pcap.encapsulation import NO_PORTS
from kdiag.pcap.files.block import PacketBlock
from kdiag.pcap.packets.address import AddressBook
from kdiag.pcap.packets.index import PacketIndex, SegmentBatch
from kdiag.pcap.writer.savefile import LINKTYPE_RAW, file_header

if TYPE_CHECKING:
    from kdiag.pcap.files.pcapng import Secrets

RING_BLOCKS: Final = 32
RING_BLOCK_BYTES: Final = 1 << 20
_RETIRE_MS: Final = 100

_SOL_PACKET: Final = 263
_PACKET_RX_RING: Final = 5
_PACKET_STATISTICS: Final = 6
_PACKET_VERSION: Final = 10
_TPACKET_V3: Final = 2
_ETH_P_ALL: Final = 3
_STATUS_KERNEL: Final = 0
_STATUS_USER: Final = 1
_PACKET_OUTGOING: Final = 4

_BLOCK_HEADER: Final = struct.Struct("=8xIII")  # status, packet count, offset of the first
_PACKET_HEADER: Final = struct.Struct("=IIIII4xH")  # next, s, ns, captured, original, offset
_ADDRESS: Final = struct.Struct("=48x8xHB")  # after the 48-byte header: hardware type, direction
_STATISTICS: Final = struct.Struct("=III")

_HARDWARE_LOOPBACK: Final = 772
_LINKTYPE_ETHERNET: Final = 1
_LINK_TYPES: Final = {1: _LINKTYPE_ETHERNET, _HARDWARE_LOOPBACK: _LINKTYPE_ETHERNET}


class LiveCapture:
    """Packets of one interface from now on, as columns of TCP segments.

    A context manager; leaving it gives the ring back. `read_segments` yields a batch whenever the
    kernel hands over packets and an empty one when `idle_ms` pass without, so that the caller can
    look at the time or stop.

    Attributes:
        index: finds the segments, and counts the packets.
        dropped: packets that the kernel could not keep.
        secrets, total_bytes: as of `CaptureReader`; always empty and None here.
    """

    def __init__(
        self,
        interface: str,
        *,
        write: Path | None = None,
        idle_ms: int = 200,
        separates_networks: bool = False,
        tunnel_ports: Mapping[int, str] = NO_PORTS,
    ) -> None:
        """Start to capture.

        Args:
            interface: its name, such as `eth0` or `lo`.
            write: a file for every packet, as pcap with nanoseconds.
            idle_ms: how long to wait before an empty batch is yielded.
            separates_networks: as for `PacketIndex`.
            tunnel_ports: as for `PacketIndex`.

        Raises:
            CaptureError: there is no such interface, the right to capture is missing, or this is
                not Linux.
        """
        self.index = PacketIndex(separates_networks=separates_networks, tunnel_ports=tunnel_ports)
        self.dropped = 0
        self.secrets: list[Secrets] = []
        self.total_bytes: int | None = None
        self._interface = interface
        self._idle_ms = idle_ms
        self._next = 0
        self._socket = _open_socket(interface)
        self._ring = mmap.mmap(self._socket.fileno(), RING_BLOCKS * RING_BLOCK_BYTES)
        self._file: BinaryIO | None = None
        self._has_header = False
        if write is not None:
            try:
                self._file = write.open("wb")
            except OSError as error:
                self.close()
                raise CaptureError(str(write), f"cannot be written: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def addresses(self) -> AddressBook:
        """RequestCycles the endpoints of the segments into text."""
        return self.index.addresses

    @property
    def warnings(self) -> list[CaptureError]:
        """What could not be read: packets in what nobody here reads."""
        return [CaptureError(self._interface, note) for note in self.index.dissector.notes()]

    @property
    def packets(self) -> int:
        """Packets captured so far."""
        return self.index.packets

    @property
    def bytes_read(self) -> int:
        """Bytes of all packets captured so far."""
        return self.index.bytes

    def close(self) -> None:
        """Stop capturing; the counts stay."""
        if self._socket.fileno() >= 0:
            self._count_drops()
        self._ring.close()
        self._socket.close()
        if self._file is not None:
            self._file.close()

    def read_segments(self) -> Iterator[SegmentBatch]:
        """Yield batches of TCP segments until the caller stops asking."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            while True:
                block = self._next_block()
                if block is None:
                    selector.select(self._idle_ms / 1000)
                    block = self._next_block() or _EMPTY
                self._write(block)
                yield self.index.index_block(block)

    def _next_block(self) -> PacketBlock | None:
        """Return the next block that the kernel has handed over, and give its memory back."""
        start = self._next * RING_BLOCK_BYTES
        status, count, first = _BLOCK_HEADER.unpack_from(self._ring, start)
        if not status & _STATUS_USER:
            return None
        block = _read_block(self._ring[start : start + RING_BLOCK_BYTES], count, first)
        self._ring[start + 8 : start + 12] = struct.pack("=I", _STATUS_KERNEL)
        self._next = (self._next + 1) % RING_BLOCKS
        self._count_drops()
        return block

    def _count_drops(self) -> None:
        """Add the packets that the kernel dropped since the last call."""
        statistics = self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, _STATISTICS.size)
        _, dropped, _ = _STATISTICS.unpack(statistics)
        self.dropped += dropped

    def _write(self, block: PacketBlock) -> None:
        """Append the packets to the file that keeps them; its link type is the first packet's."""
        if self._file is None or not len(block.offset):
            return
        if not self._has_header:
            self._has_header = True
            self._file.write(file_header(int(block.link_type[0])))
        seconds, rest = np.divmod(block.time_ns, 10**9)
        columns = np.column_stack([seconds, rest, block.captured, block.original])
        headers = columns.astype("<u4").tobytes()
        data, width = block.data.tobytes(), columns.shape[1] * 4
        spans = zip(block.offset.tolist(), block.captured.tolist(), strict=True)
        self._file.writelines(
            headers[width * row : width * (row + 1)] + data[offset : offset + captured]
            for row, (offset, captured) in enumerate(spans)
        )


def _open_socket(interface: str) -> socket.socket:
    """Return a packet socket with a ring, bound to the interface."""
    if not hasattr(socket, "AF_PACKET"):
        raise CaptureError(interface, "live capture needs Linux: record with tcpdump instead")
    try:
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    except PermissionError as error:
        why = "capturing needs root or CAP_NET_RAW: run kdiag with sudo"
        raise CaptureError(interface, why) from error
    try:
        opened.setsockopt(_SOL_PACKET, _PACKET_VERSION, struct.pack("=I", _TPACKET_V3))
        ring_bytes = RING_BLOCKS * RING_BLOCK_BYTES
        frame_bytes = 2048
        request = (RING_BLOCK_BYTES, RING_BLOCKS, frame_bytes, ring_bytes // frame_bytes)
        layout = struct.pack("=7I", *request, _RETIRE_MS, 0, 0)
        opened.setsockopt(_SOL_PACKET, _PACKET_RX_RING, layout)
        opened.bind((interface, _ETH_P_ALL))
    except OSError as error:
        opened.close()
        raise CaptureError(interface, f"cannot be captured from: {error.strerror}") from error
    return opened


def _read_block(data: bytes, count: int, first: int) -> PacketBlock:
    """Return the packets of one block of the ring; loopback shows each twice, one is kept."""
    rows: list[tuple[int, ...]] = []
    position = first
    for _ in range(count):
        step, seconds, rest, captured, original, offset = _PACKET_HEADER.unpack_from(data, position)
        hardware, direction = _ADDRESS.unpack_from(data, position)
        if not (hardware == _HARDWARE_LOOPBACK and direction == _PACKET_OUTGOING):
            link_type = _LINK_TYPES.get(hardware, LINKTYPE_RAW)
            time_ns = seconds * 10**9 + rest
            rows.append((position + offset, captured, original, time_ns, link_type, 0))
        position += step
    columns = np.array(rows, np.int64).reshape(-1, 6)
    return PacketBlock(np.frombuffer(data, np.uint8), *columns.T)


_EMPTY: Final = _read_block(b"", 0, 0)
