"""The transaction index of a segment: the aborted transactions that end in it.

34 bytes an entry: version int16 (0), producer id, first offset, last offset (of the marker), last
stable offset when the marker was written; int64 each. A consumer that reads committed records only
is told of those that overlap what it fetches, and leaves their records out.

The last stable offset of an entry ends a search: every transaction that began before it had ended
by then, so that later entries concern later offsets only. The file appears with the first entry.

Source: Kafka's `TransactionIndex`, `AbortedTxn`; KIP-98.
"""

import os
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

from kdiag.lab.log.refusal import LogFileError, disk_faults

VERSION: Final = 0
MAX_READ_BYTES: Final = 1 << 30

_ENTRY: Final = Struct(">hqqqq")


class AbortedTransaction(NamedTuple):
    """An aborted transaction.

    Attributes:
        producer_id: its producer.
        first_offset: its first record.
        last_offset: its marker.
        last_stable_offset: of the partition, when the marker was written.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """The transaction index of a segment.

    Attributes:
        path: the file.
        start_offset: the base offset of the segment.
    """

    def __init__(self, path: Path, start_offset: int) -> None:
        """Name an index; its file is read when it is first needed."""
        self.path = path
        self.start_offset = start_offset
        self._entries: list[AbortedTransaction] | None = None

    def entries(self) -> list[AbortedTransaction]:
        """Return all entries.

        Raises:
            LogFileError: if the file cannot be read, or holds something else.
        """
        if self._entries is None:
            self._entries = self._load()
        return self._entries

    def append(self, aborted: AbortedTransaction) -> None:
        """Add an entry, whose last offset is larger than the last.

        Raises:
            LogFileError: if it is not, or the file cannot be written.
        """
        entries = self.entries()
        if entries and aborted.last_offset <= entries[-1].last_offset:
            why = f"marker {aborted.last_offset} after {entries[-1].last_offset}"
            raise LogFileError(self.path, why)
        with disk_faults(self.path), self.path.open("ab") as file:
            file.write(_ENTRY.pack(VERSION, *aborted))
        entries.append(aborted)

    def collect(self, fetch_offset: int, upper_bound: int) -> tuple[list[AbortedTransaction], bool]:
        """Return the transactions that overlap a range, and whether later ones cannot.

        Args:
            fetch_offset: the first offset of the range.
            upper_bound: the first offset after it.
        """
        found = []
        for aborted in self.entries():
            if aborted.last_offset >= fetch_offset and aborted.first_offset < upper_bound:
                found.append(aborted)
            if aborted.last_stable_offset >= upper_bound:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Remove the transactions whose marker has that offset or a later one.

        Raises:
            LogFileError: if the file cannot be cut.
        """
        kept = [aborted for aborted in self.entries() if aborted.last_offset < offset]
        if len(kept) < len(self.entries()):
            with disk_faults(self.path):
                os.truncate(self.path, len(kept) * _ENTRY.size)
        self._entries = kept

    def reset(self) -> None:
        """Remove all entries, whatever the file holds.

        Raises:
            LogFileError: if the file cannot be cut.
        """
        with disk_faults(self.path):
            if self.path.exists():
                os.truncate(self.path, 0)
        self._entries = []

    def flush(self) -> None:
        """Have the disk keep the entries.

        Raises:
            LogFileError: if it cannot.
        """
        with disk_faults(self.path):
            if self.path.exists():
                with self.path.open("rb") as file:
                    os.fsync(file.fileno())

    def rename(self, path: Path) -> None:
        """Give the file another name, if there is one.

        Raises:
            LogFileError: if that fails.
        """
        with disk_faults(self.path):
            if self.path.exists():
                self.path.rename(path)
        self.path = path

    def _load(self) -> list[AbortedTransaction]:
        if not self.path.exists():
            return []
        with disk_faults(self.path), self.path.open("rb") as file:
            data = file.read(MAX_READ_BYTES)
        whole = len(data) // _ENTRY.size * _ENTRY.size
        entries: list[AbortedTransaction] = []
        for version, *fields in _ENTRY.iter_unpack(data[:whole]):
            aborted = AbortedTransaction(*fields)
            if version != VERSION or aborted.last_offset < self.start_offset:
                offset = len(entries) * _ENTRY.size
                why = f"version {version}, {aborted}: not of a segment from {self.start_offset}"
                raise LogFileError(self.path, why, offset)
            entries.append(aborted)
        return entries
