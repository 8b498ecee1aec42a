"""The .log file of a segment: record batches in a row, read by their headers.

Appending is one `write`: what it returned from survives the end of the process, as in Kafka, for
the page cache belongs to the system; only a loss of power takes what was not flushed. Reading gives
a slice (file, position, size) that can leave by `os.sendfile` without entering this process. The
file stays open as long as a slice of it is alive, even when the segment is deleted meanwhile.

Source: Kafka's `FileRecords`, `FileLogInputStream`.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from kdiag.errors import DecodeError
from kdiag.exchange.secrets.new_file import PRIVATE_FILE
from kdiag.lab.log.refusal import LogFileError, disk_faults
from kdiag.wire.records.batch import HEADER_BYTES, MAGIC_2, RecordBatch
from kdiag.wire.records.batches import MAGIC_OFFSET, read_batches
from kdiag.wire.records.message_set import MIN_BYTES, OVERHEAD_BYTES
from kdiag.wire.records.record import NO_TIMESTAMP, int64

MAX_FILE_BYTES: Final = (1 << 31) - 1
"""As in Kafka: positions in an offset index have 31 bits."""
WINDOW_BYTES: Final = 1 << 16
"""The bytes read at once for their headers, unless it is known that few are needed."""

_SHORT_HEAD: Final = struct.Struct(">qiib")
_MIN_BYTES: Final = (*MIN_BYTES, HEADER_BYTES)
_DELTA_AND_TIMES: Final = struct.Struct(">iqq")
_DELTA_START: Final = 23
_TIMESTAMP_START: Final = 18
_TIMESTAMP: Final = struct.Struct(">q")


class BatchHead(NamedTuple):
    """A batch in a file, as far as its header says.

    Attributes:
        position: its first byte in the file.
        size: in bytes.
        base_offset: of its first record; of magic 0 and 1 the last offset.
        last_offset: of its last record.
        max_timestamp: its largest timestamp, -1 without any.
        leader_epoch: -1 in magic 0 and 1.
        magic: 0, 1 or 2.
    """

    position: int
    size: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    leader_epoch: int
    magic: int

    @property
    def end(self) -> int:
        """Return the position after it."""
        return self.position + self.size


class FileRecords:
    """An open .log file.

    Attributes:
        path: its path.
        fd: its descriptor, for `os.sendfile`.
        size: its size in bytes.
    """

    def __init__(self, path: Path) -> None:
        """Open a file, or make it.

        Raises:
            LogFileError: if that fails, or it is too large to be a segment.
        """
        self.path = path
        self.fd = -1
        with disk_faults(path):
            self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
            self.size = os.fstat(self.fd).st_size
        if self.size > MAX_FILE_BYTES:
            raise LogFileError(path, f"{self.size} bytes, a segment has up to {MAX_FILE_BYTES}")

    def __repr__(self) -> str:
        return f"<FileRecords {self.path.name}: {self.size} bytes>"

    def __del__(self) -> None:
        self.close()

    def append(self, data: bytes | bytearray | memoryview) -> int:
        """Write batches at the end, and return their position.

        Raises:
            LogFileError: if the disk is full or broken; the file ends where it did before.
        """
        position = self.size
        try:
            with disk_faults(self.path), memoryview(data) as rest:
                written = 0
                while written < len(rest):
                    written += os.pwrite(self.fd, rest[written:], position + written)
        except LogFileError:
            self.truncate_to(position)
            raise
        self.size = position + written
        return position

    def read(self, position: int, size: int) -> bytes:
        """Return up to `size` bytes from a position.

        Raises:
            LogFileError: if the disk is broken.
        """
        with disk_faults(self.path):
            return os.pread(self.fd, max(0, min(size, self.size - position)), position)

    def heads(
        self, position: int = 0, *, window_bytes: int = WINDOW_BYTES, end: int | None = None
    ) -> Iterator[BatchHead]:
        """Yield the headers of the batches from a position on; a cut batch ends them.

        Raises:
            LogFileError: if there is something else in the file.
        """
        limit = self.size if end is None else min(end, self.size)
        window, start = b"", position
        while position + MAGIC_OFFSET < limit:
            at = position - start
            if at + HEADER_BYTES > len(window) and start + len(window) < limit:
                window, start, at = self.read(position, window_bytes), position, 0
            head = _read_head(window, at, position)
            if head is None:
                raise LogFileError(self.path, "no record batch begins here", position)
            if head.end > limit:
                return
            yield head
            position = head.end

    def batch_at(self, head: BatchHead) -> RecordBatch:
        """Return the batch with a header, read as a whole.

        Raises:
            LogFileError: if it is no batch.
        """
        data = self.read(head.position, head.size)
        try:
            (batch,) = read_batches(data).batches
        except (DecodeError, ValueError):
            raise LogFileError(self.path, "no record batch begins here", head.position) from None
        return batch

    def slice(self, position: int, size: int) -> "FileSlice":
        """Return a part of the file, cut at its end."""
        return FileSlice(self, position, max(0, min(size, self.size - position)))

    def truncate_to(self, size: int) -> int:
        """Cut the file, and return how many bytes that took.

        Raises:
            LogFileError: if the disk is broken.
        """
        taken = self.size - size
        with disk_faults(self.path):
            os.ftruncate(self.fd, size)
        self.size = size
        return taken

    def flush(self) -> None:
        """Have the disk keep what was appended.

        Raises:
            LogFileError: if it cannot.
        """
        with disk_faults(self.path):
            os.fsync(self.fd)

    def rename(self, path: Path) -> None:
        """Give the file another name.

        Raises:
            LogFileError: if that fails.
        """
        with disk_faults(self.path):
            self.path.rename(path)
        self.path = path

    def close(self) -> None:
        """Close the file; slices of it can no longer be read."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class FileSlice(NamedTuple):
    """A part of a .log file.

    To send it, call `os.sendfile(socket, slice.file.fd, slice.position + sent, slice.size - sent)`
    until all is sent. If that returns 0 before the end, the log was truncated meanwhile: the
    connection has to be closed.

    Attributes:
        file: the file; it stays open as long as the slice is alive.
        position: the first byte.
        size: in bytes.
    """

    file: FileRecords
    position: int
    size: int

    def read(self) -> bytes:
        """Return the bytes.

        Raises:
            LogFileError: if the disk is broken.
        """
        return self.file.read(self.position, self.size)


def _read_head(window: bytes, at: int, position: int) -> BatchHead | None:
    """Return the header at `at` of a window; None if there is none."""
    if len(window) - at < _MIN_BYTES[0]:
        return BatchHead(position, MAX_FILE_BYTES, -1, -1, NO_TIMESTAMP, -1, MAGIC_2)
    base_offset, size, leader_epoch, magic = _SHORT_HEAD.unpack_from(window, at)
    size += OVERHEAD_BYTES
    if not 0 <= magic <= MAGIC_2 or size < _MIN_BYTES[magic]:
        return None
    if len(window) - at < _MIN_BYTES[magic]:
        return BatchHead(position, MAX_FILE_BYTES, -1, -1, NO_TIMESTAMP, -1, magic)
    if magic == MAGIC_2:
        delta, _, max_timestamp = _DELTA_AND_TIMES.unpack_from(window, at + _DELTA_START)
        last_offset = int64(base_offset + delta)
        return BatchHead(
            position, size, base_offset, last_offset, max_timestamp, leader_epoch, magic
        )
    timestamp = NO_TIMESTAMP
    if magic:
        (timestamp,) = _TIMESTAMP.unpack_from(window, at + _TIMESTAMP_START)
    return BatchHead(position, size, base_offset, base_offset, timestamp, -1, magic)
