"""Finds where the bytes of a large frame lie in the captures, which saves copying them.

    frame    1,048,612 bytes, packets 17 to 741
    spans    file 0, 5,018 to 6,414   file 0, 6,484 to 7,932   ...   one for each of its segments

A frame's segments are those of its sender between its first packet and its last, in the order of
their sequence numbers, each without the bytes that earlier ones cover. The result is compared with
the frame: if the bytes differ, because some were lost, came before the first packet, or were
encrypted, the frame has no spans, and its bytes are handed on.
"""

from collections import deque
from typing import Final

import numpy as np
import numpy.typing as npt

from kdiag.exchange.model import Connection, Exchange
from kdiag.pcap.packets.address import AddressBook
from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pipeline.rows.packets import MappedFiles
from kdiag.wire.frame import LENGTH_BYTES, Frame

LEAST_BYTES: Final = 64 << 10
_MOST_BATCHES: Final = 32

Spans = npt.NDArray[np.int64]
"""Rows of a file's number, an offset in the file and a count of bytes."""


class FrameSpans:
    """Finds the spans of frames in the latest segments."""

    def __init__(self, addresses: AddressBook, least_bytes: int = LEAST_BYTES) -> None:
        """Start without segments.

        Args:
            addresses: the book of the segments.
            least_bytes: the size from which on a frame gets spans.
        """
        self._addresses = addresses
        self._least_bytes = least_bytes
        self._batches: deque[tuple[int, SegmentBatch]] = deque(maxlen=_MOST_BATCHES)
        self._numbers: dict[str, int] = {}
        self._known: set[int] = set()

    def add(self, file: int, segments: SegmentBatch) -> None:
        """Add segments, in the order of the capture, whose data is all of a file."""
        self._batches.append((file, segments))
        for endpoint in set(np.unique(segments.source).tolist()) - self._known:
            self._known.add(endpoint)
            self._numbers[self._addresses.endpoint_text(endpoint)] = endpoint

    def of(self, exchange: Exchange) -> tuple[bytes | None, bytes | None]:
        """Return the spans of the request and of the response, as bytes; None without any."""
        connection = exchange.connection
        return (
            self._of(exchange.request, connection, connection.client),
            self._of(exchange.response, connection, connection.broker),
        )

    def _of(self, frame: Frame | None, connection: Connection, sender: str) -> bytes | None:
        if frame is None or frame.size < self._least_bytes or len(frame.data) != frame.size:
            return None
        receiver = connection.broker if sender == connection.client else connection.client
        ends = self._numbers.get(sender), self._numbers.get(receiver)
        spans, views = self._segments(frame, ends)
        skipped = _start_of(frame, views)
        if skipped is None:
            return None
        spans[0] += (0, skipped, -skipped)
        views[0] = views[0][skipped:]
        ends_at = np.cumsum(spans[:, 2])
        count = int(np.searchsorted(ends_at, frame.size)) + 1
        if count > len(views):
            return None
        surplus = int(ends_at[count - 1]) - frame.size
        spans[count - 1, 2] -= surplus
        views[count - 1] = views[count - 1][: len(views[count - 1]) - surplus]
        is_it = b"".join(views[:count]) == frame.data
        return spans[:count].tobytes() if is_it else None

    def _segments(
        self, frame: Frame, ends: tuple[int | None, int | None]
    ) -> tuple[Spans, list[memoryview]]:
        """Return the segments of a frame's sender from its first packet to its last."""
        spans: list[Spans] = [np.empty((0, 3), np.int64)]
        sequences: list[npt.NDArray[np.uint32]] = [np.empty(0, np.uint32)]
        data: dict[int, memoryview] = {}
        for file, batch in self._batches:
            if batch.packet[-1] < frame.first_packet or batch.packet[0] > frame.last_packet:
                continue
            rows = _rows_of(frame, batch, ends)
            columns = (
                np.full(len(rows), file),
                batch.payload_offset[rows],
                batch.payload_bytes[rows],
            )
            spans.append(np.stack(columns, axis=1))
            sequences.append(batch.sequence[rows])
            data[file] = memoryview(batch.data)
        found = _without_repeats(np.concatenate(spans), np.concatenate(sequences))
        spans = found.tolist()
        return found, [data[file][start : start + size] for file, start, size in spans]


def _rows_of(
    frame: Frame, batch: SegmentBatch, ends: tuple[int | None, int | None]
) -> npt.NDArray[np.int64]:
    first = int(np.searchsorted(batch.packet, frame.first_packet))
    last = int(np.searchsorted(batch.packet, frame.last_packet, "right"))
    between = slice(first, last)
    wanted = (batch.source[between] == ends[0]) & (batch.destination[between] == ends[1])
    return first + np.flatnonzero(wanted & (batch.payload_bytes[between] > 0))


def _without_repeats(spans: Spans, sequences: npt.NDArray[np.uint32]) -> Spans:
    """Return the spans of segments in their order, without bytes that earlier ones cover."""
    if not len(spans):
        return spans
    start = (sequences - sequences[0]).astype(np.int32).astype(np.int64)
    order = np.argsort(start, kind="stable")
    start, spans = start[order], spans[order]
    covered = np.maximum.accumulate(start + spans[:, 2])
    again = np.zeros_like(start)
    again[1:] = np.clip(covered[:-1] - start[1:], 0, spans[1:, 2])
    spans[:, 1] += again
    spans[:, 2] -= again
    return spans[spans[:, 2] > 0]


def _start_of(frame: Frame, views: list[memoryview]) -> int | None:
    """Return where a frame's data begins in its first segment; None if it does not."""
    segment = views[0].tobytes() if views else b""
    length = frame.size.to_bytes(LENGTH_BYTES, "big")
    at = segment.find(length)
    while at >= 0:
        start = at + LENGTH_BYTES
        if frame.data.startswith(segment[start : start + frame.size]):
            return start
        at = segment.find(length, at + 1)
    return None


def read_spans(spans: bytes, files: MappedFiles) -> bytes:
    """Return the bytes in the spans of a frame.

    Raises:
        CaptureError: if a file cannot be opened.
    """
    rows = np.frombuffer(spans, np.int64).reshape(-1, 3).tolist()
    return b"".join([files.view(file)[offset : offset + size] for file, offset, size in rows])
