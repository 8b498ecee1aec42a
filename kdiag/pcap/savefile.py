"""The classic capture file: one header, then packets, each behind a header of its own.

A packet's place is known only from the length of the one before, so the walk over the lengths is
a loop; all other fields are then gathered in columns.

Source: pcap-savefile(5) of libpcap.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final

import numpy as np

from kdiag.errors import CaptureError
from kdiag.pcap.block import PacketBlock, gather
from kdiag.pcap.file import Window

FILE_HEADER_BYTES: Final = 24
_MAGICS: Final = {  # as read big-endian: nanoseconds per tick, bytes of a packet's header
    0xA1B2C3D4: (1000, 16),
    0xA1B23C4D: (1, 16),
    0xA1B2CD34: (1000, 24),  # Kuznetzov's patched tcpdump: three more fields per packet
}
_MAX_PACKET_BYTES: Final = 262_144  # libpcap's largest snap length; interfaces go to 64 KiB


def byte_order(start: bytes) -> str | None:
    """Return the byte order of a file that starts with these bytes, None if it is another kind."""
    for order in "<>":
        if len(start) >= 4 and Struct(order + "I").unpack_from(start)[0] in _MAGICS:
            return order
    return None


def read_blocks(window: Window) -> Iterator[PacketBlock]:
    """Yield the packets of a file whose first bytes are in the window.

    Raises:
        CaptureError: the file ends within a packet or stops making sense; every packet before
            that has been yielded.
    """
    start = window.data[:FILE_HEADER_BYTES].tobytes()
    order = byte_order(start) or "<"
    if len(start) < FILE_HEADER_BYTES:
        raise CaptureError(window.name, "the file ends within its header", offset=0)
    magic, _, _, _, _, snaplen, link_type = Struct(order + "IHHiIII").unpack(start)
    tick_ns, header_bytes = _MAGICS[magic]
    layout = Layout(order, tick_ns, header_bytes, snaplen, link_type & 0xFFFF)
    used = FILE_HEADER_BYTES
    while True:
        block, used, need = layout.cut(window, used)
        if len(block.offset):
            yield block
        if not window.advance(used, need):
            break
        used = 0
    if len(window.data) > 0:
        raise CaptureError(
            window.name,
            "the file ends within a packet: the recording was stopped hard or the copy is not whole",
            offset=window.offset,
        )


class Layout:
    """How the packets of one file are written."""

    def __init__(self, order: str, tick_ns: int, header_bytes: int, snaplen: int, link_type: int) -> None:
        self._captured = Struct(order + "8xI").unpack_from
        self._header = np.dtype([(name, order + "u4") for name in ("s", "tick", "captured", "original")])
        self._tick_ns = tick_ns
        self._header_bytes = header_bytes
        self._limit = max(_MAX_PACKET_BYTES, snaplen)
        self._link_type = link_type

    def cut(self, window: Window, position: int) -> tuple[PacketBlock, int, int]:
        """Return the whole packets from `position` on, where they end, and the bytes of the next."""
        data, header_bytes, captured_at = window.data, self._header_bytes, self._captured
        view, last = data.data, len(data) - header_bytes
        starts: list[int] = []
        append = starts.append
        while position <= last:
            append(position)
            position += header_bytes + captured_at(view, position)[0]
        need = 0
        if position > len(data):
            need = position - starts[-1]
            position = starts.pop()
        offset = np.array(starts, np.int64)
        header = gather(data, offset, self._header)
        time_ns = header["s"].astype(np.int64) * 1_000_000_000 + header["tick"].astype(np.int64) * self._tick_ns
        block = PacketBlock(
            data,
            offset + header_bytes,
            header["captured"].astype(np.int64),
            header["original"].astype(np.int64),
            time_ns,
            np.full(len(offset), self._link_type, np.int64),
            np.zeros(len(offset), np.int64),
        )
        return block, position, need
