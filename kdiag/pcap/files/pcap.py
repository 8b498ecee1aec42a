"""The classic capture file: one header, then packets, each behind a header of its own.

Where a packet lies is known only from the length of the one before, so the walk over the lengths
is a loop; every other field is then gathered in columns.

Source: pcap-savefile(5) of libpcap.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from kdiag.clock import NS_PER_S
from kdiag.errors import CaptureError
from kdiag.pcap.files.block import MAX_PACKET_BYTES, PacketBlock, gather
from kdiag.pcap.files.window import Window

SAVEFILE_HEADER_BYTES: Final = 24
_FORMS: Final = {  # by magic: nanoseconds per tick, bytes of a packet's header
    0xA1B2C3D4: (1000, 16),
    0xA1B23C4D: (1, 16),
    0xA1B2CD34: (1000, 24),  # Kuznetsov's tcpdump: three more fields for each packet
}
_BYTE_ORDERS: Final = {
    Struct(byte_order + "I").pack(magic): byte_order for byte_order in "<>" for magic in _FORMS
}
_USUAL_SNAPLEN: Final = 262_144


def is_savefile(start: bytes) -> bool:
    """Return whether a file that starts with these bytes is a classic capture file."""
    return start[:4] in _BYTE_ORDERS


def read_savefile(window: Window) -> Iterator[PacketBlock]:
    """Yield the packets of a file whose first bytes are in the window.

    Raises:
        CaptureError: the file ends within a packet or stops making sense; every packet before
            that has been yielded.
    """
    form = _Form.of_file(window)
    used = SAVEFILE_HEADER_BYTES
    while True:
        starts, used, need = form.walk(window.data, used)
        block, broken = form.packets(window, starts)
        if len(block.offset):
            yield block
        if broken is None and need > form.header_bytes + form.limit_bytes:
            broken = _not_a_length(window, used, need - form.header_bytes)
        if broken is not None:
            raise broken
        if not window.advance(used, need):
            break
        used = 0
    window.check_end()


class _Form(NamedTuple):
    """How the packets of one file are written."""

    byte_order: str
    tick_ns: int
    header_bytes: int
    limit_bytes: int
    link_type: int

    @classmethod
    def of_file(cls, window: Window) -> Self:
        start = window.data[:SAVEFILE_HEADER_BYTES].tobytes()
        if len(start) < SAVEFILE_HEADER_BYTES:
            raise window.error("ends within the file header: nothing was recorded")
        byte_order = _BYTE_ORDERS[start[:4]]
        magic, snaplen, link_type = Struct(byte_order + "I12xII").unpack(start)
        limit_bytes = min(max(snaplen, _USUAL_SNAPLEN), MAX_PACKET_BYTES)
        return cls(byte_order, *_FORMS[magic], limit_bytes, link_type & 0xFFFF)

    def walk(self, data: npt.NDArray[np.uint8], position: int) -> tuple[list[int], int, int]:
        """Return where packets start, where the whole ones end, and the size of the next one.

        The size is 0 when the header of the next packet is not there yet. Lengths are not judged
        here: each step leads on, so that the loop ends whatever they are.
        """
        view, header_bytes = data.data, self.header_bytes
        last = len(view) - header_bytes
        captured_at = Struct(self.byte_order + "8xI").unpack_from
        starts: list[int] = []
        append = starts.append
        while position <= last:
            append(position)
            position += header_bytes + captured_at(view, position)[0]
        if position <= len(view):
            return starts, position, 0
        start = starts.pop()
        return starts, start, position - start

    def packets(self, window: Window, starts: list[int]) -> tuple[PacketBlock, CaptureError | None]:
        """Return the packets that start there, up to the first whose header makes no sense."""
        offset = np.array(starts, np.int64)
        names = ("seconds", "ticks", "captured", "original")
        shape = np.dtype([(name, self.byte_order + "u4") for name in names])
        fields = gather(window.data, offset, shape)
        seconds, ticks, captured, original = (fields[name].astype(np.int64) for name in names)
        block = PacketBlock(
            window.data,
            offset + self.header_bytes,
            captured,
            np.maximum(original, captured),
            seconds * NS_PER_S + ticks * self.tick_ns,
            np.full(len(offset), self.link_type, np.int64),
            np.zeros(len(offset), np.int64),
        )
        # A disk that was full, or a crash, leaves zeros at the end of a file.
        broken = (captured > self.limit_bytes) | ((seconds | captured | original) == 0)
        if not broken.any():
            return block, None
        first = int(broken.argmax())
        return block.first(first), _not_a_length(window, starts[first], int(captured[first]))


def _not_a_length(window: Window, position: int, size: int) -> CaptureError:
    return window.error(
        f"a packet header should be here, but it gives a length of {size} bytes: the file is "
        "damaged from here on; everything before is read",
        position,
    )
