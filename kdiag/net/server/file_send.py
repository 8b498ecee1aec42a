"""Frames of which parts lie in files: a broker sends records without reading them.

    FileSend("1", [head, FileRegion(log, log.fd, 4096, 1 << 20), middle, FileRegion(...), end])

Bytes are written, regions are transferred by the transport: `sendfile` without TLS, a read and a
write with it. A region of a few kilobytes is read at once and sent together with the bytes around
it: a packet more would cost more than the copy.

Source: Kafka's `MultiRecordsSend`, `FileRecords.writeTo`, `TransportLayer.transferFrom`.
"""

import os
from collections.abc import Sequence
from typing import Final

from kdiag.net.send import LENGTH, NetworkSend
from kdiag.net.transport import Transport, file_ends

SMALL_BYTES: Final = 8 * 1024
"""Regions of fewer bytes are copied."""


class FileRegion:
    """A part of a file; its length is its size in bytes, as with bytes.

    Attributes:
        fd: the file's descriptor.
        position: the first byte.
    """

    __slots__ = ("_file", "_size", "fd", "position")

    def __init__(self, file: object, fd: int, position: int, size: int) -> None:
        """Refer to bytes that are there.

        Args:
            file: what owns the descriptor; it is kept alive, and open, as long as the region.
            fd: the file's descriptor.
            position: the first byte.
            size: in bytes.
        """
        self._file = file
        self.fd = fd
        self.position = position
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"<FileRegion of {self._size} bytes from {self.position}>"

    def read(self) -> bytes:
        """Return the bytes.

        Raises:
            OSError: if the file cannot be read, or was cut meanwhile.
        """
        data = os.pread(self.fd, self._size, self.position)
        if len(data) < self._size:
            raise file_ends(self.position + self._size)
        return data


FramePart = bytes | FileRegion


class FileSend(NetworkSend):
    """One frame for one channel, of bytes and regions of files."""

    def __init__(self, channel_id: str, parts: Sequence[FramePart]) -> None:
        """Prepare a frame of parts in their order.

        Raises:
            OSError: if a small region cannot be read.
        """
        super().__init__(channel_id, ())
        length = LENGTH.pack(sum(map(len, parts)))
        self._pieces = _joined([length, *parts])
        self._size_bytes = sum(map(len, self._pieces))
        self._index = 0
        self._within = 0

    @property
    def size_bytes(self) -> int:
        """Return the size on the wire, length prefix included."""
        return self._size_bytes

    @property
    def payload(self) -> bytes:
        """Return a copy of the frame without its length prefix; regions are read.

        Raises:
            OSError: if a file cannot be read.
        """
        read = (each if isinstance(each, bytes) else each.read() for each in self._pieces)
        return b"".join(read)[LENGTH.size :]

    def _write_rest(self, transport: Transport) -> int:
        """Write piece by piece until the transport takes no more."""
        taken = 0
        while self._index < len(self._pieces):
            piece = self._pieces[self._index]
            count = _write(transport, piece, self._within)
            taken += count
            self._within += count
            if self._within < len(piece):
                break
            self._index += 1
            self._within = 0
        return taken


def _write(transport: Transport, piece: FramePart, start: int) -> int:
    if isinstance(piece, bytes):
        with memoryview(piece)[start:] as rest:
            return transport.write(rest)
    return transport.transfer_from(piece.fd, piece.position + start, len(piece) - start)


def _joined(parts: Sequence[FramePart]) -> list[FramePart]:
    """Return the parts with neighbouring bytes joined; small regions are bytes, too."""
    joined: list[FramePart] = []
    run: list[bytes] = []
    for part in parts:
        if isinstance(part, bytes):
            run.append(part)
        elif len(part) < SMALL_BYTES:
            run.append(part.read())
        else:
            joined += (b"".join(run), part) if run else (part,)
            run = []
    if run:
        joined.append(b"".join(run))
    return [each for each in joined if len(each)]
