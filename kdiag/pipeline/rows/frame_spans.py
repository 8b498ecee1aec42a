"""Where the bytes of a large frame lie in the captures, so that they need not be copied to hand on.

    frame    1,048,612 bytes, packets 17 to 741
    places   file 0, 5,018 to 6,414   file 0, 6,484 to 7,932   ...   one for each of its segments

A frame's segments are those of its sender between its first packet and its last, in the order of
their sequence numbers, each without what others have told already. That they make up the frame is
not reasoned but tried: if what lies there is not the frame, because some was lost, came before its
first packet, or was encrypted, it has no places, and its bytes are handed on.
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

Places = npt.NDArray[np.int64]
"""Rows of a file's number, an offset in it and a count of bytes."""


class FramePlaces:
    """Finds the places of frames in the segments that came last."""

    def __init__(self, addresses: AddressBook, least_bytes: int = LEAST_BYTES) -> None:
        """Know no segments yet.

        Args:
            addresses: the book of the segments that will be given.
            least_bytes: from which size on a frame is looked for.
        """
        self._addresses = addresses
        self._least_bytes = least_bytes
        self._batches: deque[tuple[int, SegmentBatch]] = deque(maxlen=_MOST_BATCHES)
        self._numbers: dict[str, int] = {}
        self._known: set[int] = set()

    def take(self, file: int, segments: SegmentBatch) -> None:
        """Take segments, in the order of the capture, whose data is all of a file."""
        self._batches.append((file, segments))
        for endpoint in set(np.unique(segments.source).tolist()) - self._known:
            self._known.add(endpoint)
            self._numbers[self._addresses.endpoint_text(endpoint)] = endpoint

    def of(self, exchange: Exchange) -> tuple[bytes | None, bytes | None]:
        """Return the places of the request and of the response, as bytes, where there are any."""
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
        places, views = self._segments(frame, ends)
        skipped = _start_of(frame, views)
        if skipped is None:
            return None
        places[0] += (0, skipped, -skipped)
        views[0] = views[0][skipped:]
        ends_at = np.cumsum(places[:, 2])
        count = int(np.searchsorted(ends_at, frame.size)) + 1
        if count > len(views):
            return None
        surplus = int(ends_at[count - 1]) - frame.size
        places[count - 1, 2] -= surplus
        views[count - 1] = views[count - 1][: len(views[count - 1]) - surplus]
        is_it = b"".join(views[:count]) == frame.data
        return places[:count].tobytes() if is_it else None

    def _segments(
        self, frame: Frame, ends: tuple[int | None, int | None]
    ) -> tuple[Places, list[memoryview]]:
        """Return what a frame's sender has sent from its first packet to its last."""
        places: list[Places] = [np.empty((0, 3), np.int64)]
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
            places.append(np.stack(columns, axis=1))
            sequences.append(batch.sequence[rows])
            data[file] = memoryview(batch.data)
        found = _told_once(np.concatenate(places), np.concatenate(sequences))
        spans = found.tolist()
        return found, [data[file][start : start + size] for file, start, size in spans]


def _rows_of(
    frame: Frame, batch: SegmentBatch, ends: tuple[int | None, int | None]
) -> npt.NDArray[np.int64]:
    first = int(np.searchsorted(batch.packet, frame.first_packet))
    last = int(np.searchsorted(batch.packet, frame.last_packet, "right"))
    stretch = slice(first, last)
    wanted = (batch.source[stretch] == ends[0]) & (batch.destination[stretch] == ends[1])
    return first + np.flatnonzero(wanted & (batch.payload_bytes[stretch] > 0))


def _told_once(places: Places, sequences: npt.NDArray[np.uint32]) -> Places:
    """Return the places of segments in their order, without bytes that came before."""
    if not len(places):
        return places
    start = (sequences - sequences[0]).astype(np.int32).astype(np.int64)
    order = np.argsort(start, kind="stable")
    start, places = start[order], places[order]
    told = np.maximum.accumulate(start + places[:, 2])
    again = np.zeros_like(start)
    again[1:] = np.clip(told[:-1] - start[1:], 0, places[1:, 2])
    places[:, 1] += again
    places[:, 2] -= again
    return places[places[:, 2] > 0]


def _start_of(frame: Frame, views: list[memoryview]) -> int | None:
    """Return where in its first segment a frame's data begins, if it does."""
    segment = views[0].tobytes() if views else b""
    length = frame.size.to_bytes(LENGTH_BYTES, "big")
    at = segment.find(length)
    while at >= 0:
        start = at + LENGTH_BYTES
        if frame.data.startswith(segment[start : start + frame.size]):
            return start
        at = segment.find(length, at + 1)
    return None


def read_places(places: bytes, files: MappedFiles) -> bytes:
    """Return what lies at the places of a frame.

    Raises:
        CaptureError: a file cannot be opened.
    """
    rows = np.frombuffer(places, np.int64).reshape(-1, 3).tolist()
    return b"".join([files.view(file)[offset : offset + size] for file, offset, size in rows])
