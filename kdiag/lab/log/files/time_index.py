"""The time index of a segment: up to which offset all timestamps are smaller than a given one.

An entry (timestamp, offset) says that no record up to that offset has a larger timestamp. The
timestamps of records need not ascend, those of entries do:

    maybe_append(1000, 105)
    maybe_append(990, 107)     # nothing: no new maximum
    maybe_append(1010, 109)
    lookup(1005)               # TimestampOffset(1000, 105): look from offset 105 on

When a segment is sealed, its largest timestamp becomes the last entry.

Source: Kafka's `TimeIndex`.
"""

from struct import Struct
from typing import NamedTuple

from kdiag.lab.log.files.index_file import IndexFile
from kdiag.lab.log.refusal import LogFileError
from kdiag.wire.records.record import NO_TIMESTAMP

_TIMESTAMP, _OFFSET = 0, 1


class TimestampOffset(NamedTuple):
    """An entry of a time index.

    Attributes:
        timestamp: in milliseconds since 1970.
        offset: the last offset of the batch that has it.
    """

    timestamp: int
    offset: int


class TimeIndex(IndexFile):
    """The time index of a segment."""

    ENTRY = Struct(">qi")

    @property
    def is_full(self) -> bool:
        """Return whether there is only room for the entry that seals it."""
        return (len(self) + 2) * self.ENTRY.size > self.max_bytes

    @property
    def last_entry(self) -> TimestampOffset:
        """Return the last entry; no timestamp at the base offset without any."""
        count = len(self)
        return self.entry(count - 1) if count else TimestampOffset(NO_TIMESTAMP, self.base_offset)

    def entry(self, index: int) -> TimestampOffset:
        """Return an entry by its number."""
        timestamp, relative = self.ENTRY.unpack_from(self._data(), index * self.ENTRY.size)
        return TimestampOffset(timestamp, self.base_offset + relative)

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add an entry, if its timestamp is larger than the last.

        Raises:
            LogFileError: if its offset is smaller than the last, or the file cannot be written.
        """
        last = self.last_entry
        if timestamp <= last.timestamp:
            return
        if offset < last.offset or not self.fits(offset):
            why = f"offset {offset} after {last.offset} and base {self.base_offset}"
            raise LogFileError(self.path, why)
        self._append(self.ENTRY.pack(timestamp, offset - self.base_offset))

    def lookup(self, timestamp: int) -> TimestampOffset:
        """Return the last entry that is not beyond a timestamp, or the start of the segment."""
        found = self._floor(_TIMESTAMP, timestamp)
        if found < 0:
            return TimestampOffset(NO_TIMESTAMP, self.base_offset)
        return self.entry(found)

    def truncate_to(self, offset: int) -> None:
        """Remove the entries from an offset on.

        Raises:
            LogFileError: if the file cannot be cut.
        """
        self._truncate_to_entries(self._floor(_OFFSET, offset - self.base_offset - 1) + 1)

    def check(self) -> None:
        """Check that the entries ascend.

        Raises:
            LogFileError: if they do not.
        """
        last = TimestampOffset(NO_TIMESTAMP, 0)
        for timestamp, relative in self.ENTRY.iter_unpack(self._data()):
            if timestamp <= last.timestamp or relative < last.offset:
                why = (
                    f"entry ({timestamp}, {relative}) after {tuple(last)}; delete it to rebuild it"
                )
                raise LogFileError(self.path, why)
            last = TimestampOffset(timestamp, relative)
