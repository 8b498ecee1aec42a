"""Frames: the length-prefixed byte strings that a Kafka connection carries in each direction.

A frame is a four-byte big-endian length and that many bytes: a header, then a body. `Frame` keeps
the bytes and how TCP carried them.
"""

from typing import Final

import msgspec

LENGTH_BYTES: Final = 4
DEFAULT_MAX_FRAME_BYTES: Final = 100 * 1024 * 1024
"""Kafka's own default of `socket.request.max.bytes`."""


class Frame(msgspec.Struct, gc=False):
    """One frame, and the packets that carried it.

    Attributes:
        data: the bytes after the length prefix; if bytes were lost, those before the hole, and of
            a frame above the decoder's limit the first ones.
        size: the length in the prefix; `len(data)` if the frame is whole.
        first_byte_ns: the time of the packet with its first byte (of the prefix), since 1970.
        last_byte_ns: the time of the packet that completed it, since 1970.
        first_packet: the number of the packet with its first byte, from 1 over all inputs.
        last_packet: the number of the packet that completed it.
        segments: the number of TCP segments that carried it.
        starts_in_segment_with: the number of other frames in the segment in which it starts.
        gap_bytes: its bytes that the capture lacks.
        unsent_bytes: its bytes that were not sent before the connection or the capture ended.
        stream_offset: where its length prefix starts among the bytes of its direction; -1 where
            nobody notes that.
    """

    data: bytes
    size: int
    first_byte_ns: int
    last_byte_ns: int
    first_packet: int = 0
    last_packet: int = 0
    segments: int = 1
    starts_in_segment_with: int = 0
    gap_bytes: int = 0
    unsent_bytes: int = 0
    stream_offset: int = -1

    @property
    def is_whole(self) -> bool:
        """Return whether every byte of the frame is here."""
        return len(self.data) == self.size
