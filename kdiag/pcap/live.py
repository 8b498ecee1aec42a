"""A network interface as a source of packets: the kernel's own ring buffer, read block by block.

The kernel writes packets into a ring of memory shared with this process (AF_PACKET, TPACKET_V3) and
hands over a block when it is full or a tenth of a second old. A block becomes the same columns that
a capture file gives, so a live interface and a file are decoded by the same code. What does not
fit while this process is busy is dropped by the kernel and counted: `LiveCapture.dropped`.

`any` stands for all interfaces. Their packets have link headers of many kinds, so the kernel is
asked for what is behind these ("cooked"), and the header of such packets is written in front, into
bytes of the ring that are free for that:

    48-byte header   sockaddr_ll, 20 bytes   8 bytes   LINUX_SLL2 header, 20 bytes   IP ...

Linux only; needs root or the capability CAP_NET_RAW.

Source: Linux `Documentation/networking/packet_mmap.rst` and `include/uapi/linux/if_packet.h`;
LINKTYPE_LINUX_SLL2 of tcpdump.org.
"""

import mmap
import os
import selectors
import socket
import struct
from collections.abc import Iterator, Mapping
from ctypes import CDLL, addressof, create_string_buffer, get_errno
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, Self

import numpy as np

from kdiag.errors import CaptureError
from kdiag.exchange.secrets.new_file import open_new
from kdiag.pcap.encapsulation import NO_PORTS
from kdiag.pcap.files.block import PacketBlock
from kdiag.pcap.packets.address import AddressBook
from kdiag.pcap.packets.capture_filter import INSTRUCTION_BYTES, compile_filter
from kdiag.pcap.packets.index import PacketIndex, SegmentBatch
from kdiag.pcap.writer.packet_file import pcap_headers
from kdiag.pcap.writer.savefile import LINKTYPE_RAW, file_header

if TYPE_CHECKING:
    from kdiag.pcap.files.pcapng import Secrets

RING_BLOCKS: Final = 32
RING_BLOCK_BYTES: Final = 1 << 20
_RETIRE_MS: Final = 100
_IDLE_MS: Final = 200

_SOL_PACKET: Final = 263
_PACKET_ADD_MEMBERSHIP: Final = 1
_PACKET_RX_RING: Final = 5
_PACKET_STATISTICS: Final = 6
_PACKET_VERSION: Final = 10
_TPACKET_V3: Final = 2
_ETH_P_ALL: Final = 3
_STATUS_KERNEL: Final = 0
_STATUS_USER: Final = 1
_PACKET_OUTGOING: Final = 4
_MEMBERSHIP: Final = struct.Struct("=iHH8x")  # interface, what for, no address
_PROMISCUOUS: Final = 1
_SOCKET_ADDRESS: Final = struct.Struct("=HHi12x")  # family, protocol, interface
_SO_ATTACH_FILTER: Final = 26

ANY_INTERFACE: Final = "any"
"""Stands for all interfaces, as it does for tcpdump."""

_BLOCK_HEADER: Final = struct.Struct("=8xIII")  # status, packet count, offset of the first
_PACKET_HEADER: Final = struct.Struct("=IIIII4xH")  # next, s, ns, captured, original, offset
_ADDRESS: Final = struct.Struct("=48x8xHB")  # after the 48-byte header: hardware type, direction
_STATISTICS: Final = struct.Struct("=III")
_LINK_ADDRESS: Final = struct.Struct("=48x2x2siHBB8s")  # protocol, interface, hardware, ...
_COOKED: Final = struct.Struct(">2s2xiHBB8s")  # the same in LINUX_SLL2

_HARDWARE_LOOPBACK: Final = 772
_LINKTYPE_ETHERNET: Final = 1
_INTERFACES: Final = Path("/sys/class/net")
_LINKTYPE_COOKED: Final = 276
_LINK_TYPES: Final = {1: _LINKTYPE_ETHERNET, _HARDWARE_LOOPBACK: _LINKTYPE_ETHERNET}


class CaptureChoice(NamedTuple):
    """Which packets of an interface are captured.

    Attributes:
        is_promiscuous: also those to other machines, where the network brings them.
        filter: the packets alone that this filter lets pass, as pcap-filter(7) has it.
    """

    is_promiscuous: bool = False
    filter: str | None = None


EVERYTHING: Final = CaptureChoice()


class LiveCapture:
    """Packets of one interface, or of all, from now on, as columns of TCP segments.

    A context manager; leaving it gives the ring back. `read_segments` yields a batch whenever the
    kernel hands over packets and an empty one when 200 ms pass without, so that the caller can
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
        separates_networks: bool = False,
        tunnel_ports: Mapping[int, str] = NO_PORTS,
        choice: CaptureChoice = EVERYTHING,
    ) -> None:
        """Start to capture.

        Args:
            interface: its name, such as `eth0` or `lo`, or `any`.
            write: a file for every packet, as pcap with nanoseconds.
            separates_networks: as for `PacketIndex`.
            tunnel_ports: as for `PacketIndex`.
            choice: of packets.

        Raises:
            CaptureError: there is no such interface, the right to capture is missing, this is not
                Linux, or the filter is wrong.
        """
        self.index = PacketIndex(separates_networks=separates_networks, tunnel_ports=tunnel_ports)
        self.dropped = 0
        self.secrets: list[Secrets] = []
        self.total_bytes: int | None = None
        self._interface = interface
        self._next = 0
        self._is_cooked = interface == ANY_INTERFACE
        self._socket = _open_socket(interface, choice)
        self._ring = mmap.mmap(self._socket.fileno(), RING_BLOCKS * RING_BLOCK_BYTES)
        self._file: BinaryIO | None = None
        self._has_header = False
        if write is not None:
            try:
                self._file = open_new(write, is_private=True)
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
        """Return what writes the endpoints of the segments as text."""
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
                    selector.select(_IDLE_MS / 1000)
                    block = self._next_block() or _EMPTY
                batch = self.index.index_block(block)
                self._write(block)  # last, so that an interruption rarely comes between both
                yield batch

    def _next_block(self) -> PacketBlock | None:
        """Return the next block that the kernel has handed over, and give its memory back."""
        start = self._next * RING_BLOCK_BYTES
        status, count, first = _BLOCK_HEADER.unpack_from(self._ring, start)
        if not status & _STATUS_USER:
            return None
        data = self._ring[start : start + RING_BLOCK_BYTES]
        block = (_read_cooked if self._is_cooked else _read_block)(data, count, first)
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
        columns = pcap_headers(block.time_ns, block.captured, block.original)
        headers = columns.astype("<u4").tobytes()
        data, width = block.data.tobytes(), columns.shape[1] * 4
        spans = zip(block.offset.tolist(), block.captured.tolist(), strict=True)
        self._file.writelines(
            headers[width * row : width * (row + 1)] + data[offset : offset + captured]
            for row, (offset, captured) in enumerate(spans)
        )


def _open_socket(interface: str, choice: CaptureChoice) -> socket.socket:
    """Return a packet socket with a ring, bound to the interface."""
    if not hasattr(socket, "AF_PACKET"):
        raise CaptureError(interface, "live capture needs Linux: record with tcpdump instead")
    is_cooked = interface == ANY_INTERFACE
    kind = socket.SOCK_DGRAM if is_cooked else socket.SOCK_RAW
    try:
        opened = socket.socket(socket.AF_PACKET, kind, 0)
    except PermissionError as error:
        why = "capturing needs root or CAP_NET_RAW: run kdiag with sudo"
        raise CaptureError(interface, why) from error
    try:
        _make_ring(opened)
        if choice.filter is not None:
            link_type = LINKTYPE_RAW if is_cooked else _link_type_of(interface)
            _attach(opened, compile_filter(choice.filter, link_type))
        if is_cooked:
            _bind_to_all(opened)
        else:
            opened.bind((interface, _ETH_P_ALL))
        if choice.is_promiscuous:
            _make_promiscuous(opened, interface)
    except OSError as error:
        opened.close()
        raise CaptureError(interface, f"cannot be captured from: {error.strerror}") from error
    except CaptureError:
        opened.close()
        raise
    return opened


def _make_ring(opened: socket.socket) -> None:
    """Give a socket its ring; it must not be bound, so that no packet comes before the filter."""
    opened.setsockopt(_SOL_PACKET, _PACKET_VERSION, struct.pack("=I", _TPACKET_V3))
    ring_bytes = RING_BLOCKS * RING_BLOCK_BYTES
    frame_bytes = 2048
    request = (RING_BLOCK_BYTES, RING_BLOCKS, frame_bytes, ring_bytes // frame_bytes)
    layout = struct.pack("=7I", *request, _RETIRE_MS, 0, 0)
    opened.setsockopt(_SOL_PACKET, _PACKET_RX_RING, layout)


def _attach(opened: socket.socket, program: bytes) -> None:
    """Let a socket receive the packets alone that a filter lets pass."""
    held = create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // INSTRUCTION_BYTES, addressof(held))
    opened.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, described)


def _bind_to_all(opened: socket.socket) -> None:
    """Bind a socket to interface 0, which stands for all; Python's own `bind` wants a name."""
    address = _SOCKET_ADDRESS.pack(socket.AF_PACKET, socket.htons(_ETH_P_ALL), 0)
    if CDLL(None, use_errno=True).bind(opened.fileno(), address, len(address)):
        raise OSError(get_errno(), os.strerror(get_errno()))


def _make_promiscuous(opened: socket.socket, interface: str) -> None:
    """Let an interface receive what is for others, as long as the socket is open."""
    if interface == ANY_INTERFACE:
        raise CaptureError(interface, "all interfaces cannot be promiscuous: name one")
    membership = _MEMBERSHIP.pack(socket.if_nametoindex(interface), _PROMISCUOUS, 0)
    opened.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, membership)


def _link_type_of(interface: str) -> int:
    """Return the link type of an interface's packets."""
    try:
        hardware = int((_INTERFACES / interface / "type").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return _LINKTYPE_ETHERNET
    return _LINK_TYPES.get(hardware, LINKTYPE_RAW)


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


def _read_cooked(data: bytes, count: int, first: int) -> PacketBlock:
    """Return the same of packets without link headers: each gets one that tells its interface."""
    cooked = bytearray(data)
    rows: list[tuple[int, ...]] = []
    position = first
    for _ in range(count):
        step, seconds, rest, captured, original, offset = _PACKET_HEADER.unpack_from(data, position)
        hardware, direction = _ADDRESS.unpack_from(data, position)
        if not (hardware == _HARDWARE_LOOPBACK and direction == _PACKET_OUTGOING):
            start = position + offset - _COOKED.size
            _COOKED.pack_into(cooked, start, *_LINK_ADDRESS.unpack_from(data, position))
            sizes = (captured + _COOKED.size, original + _COOKED.size)
            rows.append((start, *sizes, seconds * 10**9 + rest, _LINKTYPE_COOKED, 0))
        position += step
    columns = np.array(rows, np.int64).reshape(-1, 6)
    return PacketBlock(np.frombuffer(bytes(cooked), np.uint8), *columns.T)


_EMPTY: Final = _read_block(b"", 0, 0)
