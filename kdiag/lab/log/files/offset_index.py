"""The offset index of a segment: where in its .log to begin looking for an offset.

An entry is the last offset of what was appended, relative to the base offset, and the position of
its first byte: who looks for that offset or a later one need not look further ahead.

    append(105, 4200)      # base offset 100: 00000005 00001068
    lookup(110)            # OffsetPosition(105, 4200): scan the headers from byte 4200 on
    lookup(104)            # OffsetPosition(100, 0): from the start

Source: Kafka's `OffsetIndex`.
"""

from struct import Struct
from typing import NamedTuple

from kdiag.lab.log.files.index_file import IndexFile
from kdiag.lab.log.refusal import LogFileError

_OFFSET, _POSITION = 0, 1


class OffsetPosition(NamedTuple):
    """An entry of an offset index.

    Attributes:
        offset: an offset of the partition.
        position: a position in the .log.
    """

    offset: int
    position: int


class OffsetIndex(IndexFile):
    """The offset index of a segment."""

    ENTRY = Struct(">ii")

    @property
    def last_offset(self) -> int:
        """Return the offset of the last entry, the base offset without any."""
        return self.entry(len(self) - 1).offset if len(self) else self.base_offset

    def entry(self, index: int) -> OffsetPosition:
        """Return an entry by its number."""
        relative, position = self.ENTRY.unpack_from(self._data(), index * self.ENTRY.size)
        return OffsetPosition(self.base_offset + relative, position)

    def append(self, offset: int, position: int) -> None:
        """Add an entry, larger than the last.

        Raises:
            LogFileError: if the offset is not, or the file cannot be written.
        """
        if (len(self) and offset <= self.last_offset) or not self.fits(offset):
            why = f"offset {offset} after {self.last_offset} and base {self.base_offset}"
            raise LogFileError(self.path, why)
        self._append(self.ENTRY.pack(offset - self.base_offset, position))

    def lookup(self, offset: int) -> OffsetPosition:
        """Return the last entry that is not beyond an offset, or the start of the segment."""
        found = self._floor(_OFFSET, offset - self.base_offset)
        return OffsetPosition(self.base_offset, 0) if found < 0 else self.entry(found)

    def upper_bound(self, position: int) -> int | None:
        """Return the offset of the first entry from a position on; None if there is none."""
        found = self._floor(_POSITION, position - 1) + 1
        return self.entry(found).offset if found < len(self) else None

    def truncate_to(self, offset: int) -> None:
        """Remove the entries from an offset on.

        Raises:
            LogFileError: if the file cannot be cut.
        """
        self._truncate_to_entries(self._floor(_OFFSET, offset - self.base_offset - 1) + 1)

    def check(self, log_bytes: int) -> None:
        """Check that the entries ascend and point into the .log.

        Raises:
            LogFileError: if they do not.
        """
        last = OffsetPosition(-1, -1)
        for relative, position in self.ENTRY.iter_unpack(self._data()):
            if relative <= last.offset or not last.position < position < log_bytes:
                why = f"entry ({relative}, {position}) after {tuple(last)}; delete it to rebuild it"
                raise LogFileError(self.path, why)
            last = OffsetPosition(relative, position)
