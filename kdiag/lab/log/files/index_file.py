"""An index of a segment: entries of one size, ascending, searched by halves.

    offset index, 8 bytes:    relative offset int32, position int32
    time index, 12 bytes:     timestamp int64, relative offset int32

An index is sparse: an entry for about every 4 KiB of log. It is read when it is first needed, so
that a sealed segment that nobody reads costs nothing, and what is appended goes to its file at
once. Unlike Kafka, which preallocates the file and cuts it when the segment is sealed, it never has
zeros at its end, and is searched in memory that is not mapped: a mapping keeps a descriptor open.

Source: Kafka's `AbstractIndex`.
"""

import os
import struct
from bisect import bisect_right
from pathlib import Path
from typing import ClassVar, Final

from kdiag.exchange.secrets.new_file import PRIVATE_FILE
from kdiag.lab.log.refusal import LogFileError, disk_faults

MAX_READ_BYTES: Final = 1 << 29
"""More than the entries of the largest segment, one for each batch, can take."""


class IndexFile:
    """What offset and time index have in common.

    Attributes:
        path: the file.
        base_offset: of the segment; offsets in the file are relative to it.
        max_bytes: the size from which on it is full.
    """

    ENTRY: ClassVar[struct.Struct]

    def __init__(self, path: Path, base_offset: int, max_bytes: int) -> None:
        """Name an index; its file is made or read when it is first needed."""
        self.path = path
        self.base_offset = base_offset
        self.max_bytes = max_bytes
        self._entries: bytearray | None = None
        self._fd = -1

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path.name}: {len(self)} entries>"

    def __len__(self) -> int:
        """Return the number of entries.

        Raises:
            LogFileError: if the file cannot be read.
        """
        return len(self._data()) // self.ENTRY.size

    def __del__(self) -> None:
        self.close()

    @property
    def is_full(self) -> bool:
        """Return whether the segment has to be rolled."""
        return (len(self) + 1) * self.ENTRY.size > self.max_bytes

    def fits(self, offset: int) -> bool:
        """Return whether an offset is within 31 bits of the base offset."""
        return 0 <= offset - self.base_offset < 1 << 31

    def seal(self) -> None:
        """Let go of the memory: nothing will be appended.

        Raises:
            LogFileError: if the file cannot be made.
        """
        if not self.path.exists():
            self._open()
        self.close()

    def reset(self) -> None:
        """Remove all entries.

        Raises:
            LogFileError: if the file cannot be cut.
        """
        self._truncate_to_entries(0)

    def flush(self) -> None:
        """Have the disk keep the entries.

        Raises:
            LogFileError: if it cannot.
        """
        if self._fd >= 0:
            with disk_faults(self.path):
                os.fsync(self._fd)

    def rename(self, path: Path) -> None:
        """Give the file another name, if there is one.

        Raises:
            LogFileError: if that fails.
        """
        with disk_faults(self.path):
            if self.path.exists():
                self.path.rename(path)
        self.path = path

    def close(self) -> None:
        """Close the file; it opens again when it is needed."""
        self._entries = None
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _data(self) -> bytearray:
        """Return the entries, as the file has them."""
        if self._entries is None:
            self._entries = self._load()
        return self._entries

    def _load(self) -> bytearray:
        if not self.path.exists():
            return bytearray()
        with disk_faults(self.path), self.path.open("rb") as file:
            data = bytearray(file.read(MAX_READ_BYTES))
        if len(data) % self.ENTRY.size:
            why = f"{len(data)} bytes, entries have {self.ENTRY.size}; delete it to have it rebuilt"
            raise LogFileError(self.path, why)
        return data

    def _open(self) -> bytearray:
        """Return the entries as memory to which one can append, the file open."""
        data = self._data()
        if self._fd < 0:
            with disk_faults(self.path):
                self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        return data

    def _append(self, entry: bytes) -> None:
        data = self._open()
        with disk_faults(self.path):
            os.pwrite(self._fd, entry, len(data))
        data += entry

    def _floor(self, field: int, target: int) -> int:
        """Return the last entry whose field is at most `target`, -1 if there is none."""
        data, entry = self._data(), self.ENTRY
        values = range(len(data) // entry.size)

        def key(index: int) -> int:
            value: int = entry.unpack_from(data, index * entry.size)[field]
            return value

        return bisect_right(values, target, key=key) - 1

    def _truncate_to_entries(self, count: int) -> None:
        data = self._open()
        with disk_faults(self.path):
            os.ftruncate(self._fd, count * self.ENTRY.size)
        del data[count * self.ENTRY.size :]
