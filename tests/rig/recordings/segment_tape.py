"""Writes down TCP segments and hands them out in batches of any size; no file is involved."""

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pcap.tcp.segments import Piece, Segments
from kdiag.wire.frame import Frame

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
START_NS = 1_700_000_000_000_000_000
STEP_NS = 1_000_000
CLIENT = (0x0A000001 << 16) | 40_000
ALL_TOPICS = bytes(4)
"""The body of a Metadata request version 0 that asks for all topics."""

NOBODY = bytes(8)
"""The body of a Metadata response version 0 without brokers and topics: what `request` asks for."""
BROKER = (0x0A000002 << 16) | 9092


class Numbered:
    """Names ends by their numbers."""

    def endpoint_text(self, endpoint: int) -> str:
        """Return an end in hexadecimal digits."""
        return hex(endpoint)


class Unmatched:
    """Handles the frames of a direction by doing nothing with them."""

    def begin(self, frame: Frame) -> None:
        """Pass over a frame."""

    def end(self, frame: Frame) -> None:
        """Pass over the rest of a frame."""


class Segment(NamedTuple):
    """One TCP segment; `wire_bytes` is what it had before the recorder cut it."""

    source: int
    destination: int
    sequence: int
    acknowledgment: int = 0
    flags: int = ACK
    payload: bytes = b""
    wire_bytes: int | None = None

    def cut(self, size: int) -> "Segment":
        """Return the segment with at most `size` bytes of its payload."""
        return self._replace(payload=self.payload[:size], wire_bytes=len(self.payload))


def batches(segments: Sequence[Segment], size: int = 1000) -> Iterator[SegmentBatch]:
    """Yield segments a millisecond apart, numbered from 1, `size` in each batch."""
    for start in range(0, len(segments), size):
        yield batch_of(segments[start : start + size], start + 1)


def batch_of(segments: Sequence[Segment], first_packet: int = 1) -> SegmentBatch:
    """Return segments as one batch."""
    count = len(segments)
    captured = np.array([len(each.payload) for each in segments], np.int64)
    wire = [len(s.payload) if s.wire_bytes is None else s.wire_bytes for s in segments]
    number = np.arange(first_packet, first_packet + count, dtype=np.int64)
    return SegmentBatch(
        b"".join(each.payload for each in segments),
        number,
        START_NS + number * STEP_NS,
        np.array([each.source for each in segments], np.uint64),
        np.array([each.destination for each in segments], np.uint64),
        np.array([each.sequence % 2**32 for each in segments], np.uint32),
        np.array([each.acknowledgment % 2**32 for each in segments], np.uint32),
        np.array([each.flags for each in segments], np.uint8),
        np.full(count, 65535, np.uint16),
        np.cumsum(captured) - captured,
        captured,
        np.array(wire, np.int64),
    )


class Talk:
    """Writes down one connection as both ends send it.

    Attributes:
        segments: what was written, in order.
    """

    def __init__(
        self, client: int = CLIENT, broker: int = BROKER, starts: tuple[int, int] = (1000, 5000)
    ) -> None:
        self.segments: list[Segment] = []
        self._ends = client, broker
        self._next = list(starts)

    def open(self) -> "Talk":
        """Write the handshake."""
        self.send(0, flags=SYN)
        self.send(1, flags=SYN | ACK)
        self.send(0)
        return self

    def close(self) -> "Talk":
        """Write a FIN of either end and the last acknowledgment."""
        self.send(0, flags=FIN | ACK)
        self.send(1, flags=FIN | ACK)
        self.send(0)
        return self

    def ask(self, data: bytes, segment_bytes: int = 1460) -> "Talk":
        """Write what the client sends, in segments."""
        return self._send_all(0, data, segment_bytes)

    def tell(self, data: bytes, segment_bytes: int = 1460) -> "Talk":
        """Write what the broker sends, in segments."""
        return self._send_all(1, data, segment_bytes)

    def send(self, end: int, payload: bytes = b"", flags: int = ACK) -> None:
        """Write one segment; SYN and FIN count as a byte."""
        acknowledgment = self._next[1 - end] if flags & ACK else 0
        source, destination = self._ends[end], self._ends[1 - end]
        self.segments.append(
            Segment(source, destination, self._next[end], acknowledgment, flags, payload)
        )
        self._next[end] += len(payload) + bool(flags & (SYN | FIN))

    def _send_all(self, end: int, data: bytes, segment_bytes: int) -> "Talk":
        for start in range(0, len(data), segment_bytes):
            self.send(end, data[start : start + segment_bytes], PSH | ACK)
        return self


def contiguous_run(parts: Iterable[bytes], *, first_packet: int = 1) -> Segments:
    """Return byte strings that follow each other as segments, one packet each."""
    return Segments.of_pieces(
        [
            Piece(part, len(part), number, START_NS + number * STEP_NS)
            for number, part in enumerate(parts, first_packet)
        ]
    )


def request(
    correlation_id: int,
    body: bytes = ALL_TOPICS,
    *,
    api_key: int = 3,
    version: int = 0,
    client_id: bytes | None = b"client-1",
) -> bytes:
    """Return the frame of a request with header version 1, its length included."""
    name = b"\xff\xff" if client_id is None else struct.pack(">h", len(client_id)) + client_id
    return sized(struct.pack(">hhi", api_key, version, correlation_id) + name + body)


def request_about(correlation_id: int, *topics: bytes, client_id: bytes = b"client-1") -> bytes:
    """Return the frame of a Metadata request version 0 about some topics."""
    names = b"".join(struct.pack(">h", len(topic)) + topic for topic in topics)
    return request(correlation_id, struct.pack(">i", len(topics)) + names, client_id=client_id)


def response(correlation_id: int, body: bytes = NOBODY) -> bytes:
    """Return the frame of a response with header version 0, its length included."""
    return sized(struct.pack(">i", correlation_id) + body)


def sized(data: bytes) -> bytes:
    """Return bytes behind their length."""
    return struct.pack(">i", len(data)) + data
