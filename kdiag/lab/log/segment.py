"""A segment: a .log file, the indexes into it, and what is known of its timestamps.

Theory of operation. To find an offset, the offset index gives a position at or before it, and the
headers of the batches from there on are read until one ends at the offset or beyond: about 4 KiB
away at the most, unless batches are larger. Indexes hold nothing that is not in the log: a damaged
or missing one is rebuilt from it.

    append       batches at the end; index entries every `index.interval.bytes`
    read         a slice of the file from the batch that holds an offset
    recover      read everything, cut what is damaged, rebuild the indexes
    truncate_to  cut from an offset on

Source: Kafka's `LogSegment`.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_MS, Clock
from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.files import names
from kdiag.lab.log.files.file_records import BatchHead, FileRecords, FileSlice
from kdiag.lab.log.files.offset_index import OffsetIndex
from kdiag.lab.log.files.time_index import TimeIndex, TimestampOffset
from kdiag.lab.log.files.transaction_index import AbortedTransaction, TransactionIndex
from kdiag.lab.log.producers.append_info import CompletedTransaction
from kdiag.lab.log.refusal import LogFileError, disk_faults
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.record import NO_TIMESTAMP

SEARCH_BYTES: Final = 4096 + 128
"""The bytes read at once when headers are searched: an index interval."""


class SegmentRead(NamedTuple):
    """What a read of a segment gives.

    Attributes:
        slice: the bytes; they may end inside a batch.
        is_first_cut: whether the first batch is larger than what was asked for.
    """

    slice: FileSlice
    is_first_cut: bool


class LogSegment:
    """A segment of a log.

    Attributes:
        base_offset: no offset in it is smaller.
        log: the record batches.
        offset_index, time_index, transaction_index: the indexes.
        created_ms: when it was opened, by the clock.
    """

    def __init__(
        self, folder: Path, base_offset: int, config: LogConfig, clock: Clock, state: str = ""
    ) -> None:
        """Open a segment, or make it.

        Args:
            folder: of the partition.
            base_offset: its number.
            config: the sizes of indexes.
            clock: for rolling segments whose records have no timestamps.
            state: a suffix such as `.cleaned`.

        Raises:
            LogFileError: if that fails.
        """

        def path(suffix: str) -> Path:
            return names.numbered_path(folder, base_offset, suffix + state)

        self.base_offset = base_offset
        self.log = FileRecords(path(names.LOG))
        max_bytes = config.segment_index_bytes
        self.offset_index = OffsetIndex(path(names.OFFSET_INDEX), base_offset, max_bytes)
        self.time_index = TimeIndex(path(names.TIME_INDEX), base_offset, max_bytes)
        self.transaction_index = TransactionIndex(path(names.TRANSACTION_INDEX), base_offset)
        self.created_ms = clock.epoch_ns() // NS_PER_MS
        self._interval_bytes = config.index_interval_bytes
        self._since_index_bytes = 0
        self._first_timestamp: int | None = None
        self._largest: TimestampOffset | None = None
        self._is_checked = not self.log.size

    def __repr__(self) -> str:
        return f"<LogSegment {self.base_offset}: {self.log.size} bytes>"

    @property
    def size(self) -> int:
        """Return the size of the .log in bytes."""
        return self.log.size

    @property
    def largest_timestamp_offset(self) -> TimestampOffset:
        """Return its largest timestamp and the last offset of the batch that has it."""
        if self._largest is None:
            self._check_indexes()
            self._largest = self.time_index.last_entry
        return self._largest

    @property
    def largest_timestamp(self) -> int:
        """Return its largest timestamp; without any, when its file was last modified."""
        timestamp = self.largest_timestamp_offset.timestamp
        return timestamp if timestamp >= 0 else self.last_modified_ms

    @property
    def last_modified_ms(self) -> int:
        """Return when its file was last modified, in milliseconds since 1970."""
        with disk_faults(self.log.path):
            return os.fstat(self.log.fd).st_mtime_ns // NS_PER_MS

    @property
    def first_batch_timestamp(self) -> int | None:
        """Return the timestamp of its first batch, if it has one."""
        if self._first_timestamp is None:
            head = next(self.log.heads(window_bytes=SEARCH_BYTES), None)
            if head is None:
                return None
            self._first_timestamp = head.max_timestamp
        return self._first_timestamp if self._first_timestamp >= 0 else None

    def should_roll(self, config: LogConfig, more: Sequence[RecordBatch], now_ms: int) -> bool:
        """Return whether these batches belong into a new segment."""
        bytes_more = sum(batch.size_in_bytes for batch in more)
        newest = max(batch.max_timestamp for batch in more)
        return (
            self.size > config.segment_bytes - bytes_more
            or (self.size > 0 and self.waited_for_roll_ms(now_ms, newest) > config.segment_ms)
            or self.offset_index.is_full
            or self.time_index.is_full
            or not self.offset_index.fits(more[-1].last_offset)
        )

    def waited_for_roll_ms(self, now_ms: int, timestamp: int) -> int:
        """Return its age: by timestamps if its first batch has one, else by the clock."""
        first = self.first_batch_timestamp
        return now_ms - self.created_ms if first is None else timestamp - first

    def append(self, data: bytes | bytearray, batches: Sequence[RecordBatch]) -> int:
        """Write batches at the end, and return the position of the first.

        Args:
            data: their bytes.
            batches: their headers; `start` counts from the first byte of `data`.

        Raises:
            LogFileError: if the disk is full or broken.
        """
        position = self.log.append(data)
        try:
            for batch in batches:
                self._index(batch, position + batch.start)
        except LogFileError:
            self.log.truncate_to(position)
            self._is_checked = False  # what the indexes got of it does not fit the log now
            raise
        return position

    def read(
        self, offset: int, max_bytes: int, *, end: int | None = None, is_one_whole: bool = False
    ) -> SegmentRead | None:
        """Return the bytes from the batch that holds an offset; None beyond the last.

        Args:
            offset: the first that is wanted; the batch may begin before it.
            max_bytes: the most bytes.
            end: the position at which to end at the latest.
            is_one_whole: whether to give the first batch even if it is larger than that.

        Raises:
            LogFileError: if the log is damaged there.
        """
        head = self.locate(offset)
        if head is None:
            return None
        wanted = max(max_bytes, head.size) if is_one_whole else max_bytes
        limit = self.log.size if end is None else end
        part = self.log.slice(head.position, max(0, min(wanted, limit - head.position)))
        return SegmentRead(part, wanted < head.size)

    def locate(self, offset: int) -> BatchHead | None:
        """Return the first batch that ends at an offset or beyond it; None without one.

        Raises:
            LogFileError: if the log is damaged there.
        """
        self._check_indexes()
        start = self.offset_index.lookup(offset).position
        for head in self.log.heads(start, window_bytes=SEARCH_BYTES):
            if head.last_offset >= offset:
                return head
        return None

    def batches(self, offset: int) -> Iterator[RecordBatch]:
        """Yield the batches from the one that holds an offset on.

        Raises:
            LogFileError: if the log is damaged there.
        """
        first = self.locate(offset)
        if first is not None:
            for head in self.log.heads(first.position):
                yield self.log.batch_at(head)

    def next_offset(self) -> int:
        """Return the offset after its last batch.

        Raises:
            LogFileError: if the log is damaged.
        """
        last = self._last_head()
        return self.base_offset if last is None else last.last_offset + 1

    def is_whole(self) -> bool:
        """Return whether the file ends where its last batch ends."""
        try:
            last = self._last_head()
        except LogFileError:
            return False
        return self.log.size == (0 if last is None else last.end)

    def upper_bound(self, read: FileSlice) -> int | None:
        """Return an offset that is not in a slice nor before it; None if it reaches the end."""
        return self.offset_index.upper_bound(read.position + read.size)

    def append_to_transaction_index(
        self, completed: CompletedTransaction, last_stable_offset: int
    ) -> None:
        """Record a transaction, if it was aborted.

        Raises:
            LogFileError: if the disk is full or broken.
        """
        if completed.is_aborted:
            fields = completed.producer_id, completed.first_offset, completed.last_offset
            self.transaction_index.append(AbortedTransaction(*fields, last_stable_offset))

    def recover(self, apply: Callable[[RecordBatch], None]) -> int:
        """Cut what is damaged, rebuild the indexes, and return how many bytes were cut.

        Args:
            apply: is called with each batch that is right.

        Raises:
            LogFileError: if the disk is broken.
        """
        self._reset_indexes()
        self.transaction_index.reset()
        valid_bytes, next_offset = 0, self.base_offset
        for head in _heads_until_fault(self.log):
            if not next_offset <= head.last_offset or not self.offset_index.fits(head.last_offset):
                break
            batch = self.log.batch_at(head)
            if not batch.crc_ok:
                break
            apply(batch)
            self._index(batch, head.position)
            valid_bytes, next_offset = head.end, head.last_offset + 1
        cut = self.log.size - valid_bytes
        if cut:
            self.log.truncate_to(valid_bytes)
        self._seal_time_index()
        return cut

    def truncate_to(self, offset: int) -> int:
        """Cut from the batch that holds an offset on, and return how many bytes that took.

        Raises:
            LogFileError: if the disk is broken.
        """
        head = self.locate(offset)
        for index in (self.offset_index, self.time_index, self.transaction_index):
            index.truncate_to(offset)
        cut = 0 if head is None else self.log.truncate_to(head.position)
        self._first_timestamp = None
        self._since_index_bytes = 0
        self._largest = self._read_largest_timestamp()
        return cut

    def seal(self) -> None:
        """Finish the indexes, and let go of their memory: another segment is active now.

        Raises:
            LogFileError: if the disk is full or broken.
        """
        self._seal_time_index()
        self.offset_index.seal()
        self.time_index.seal()

    def flush(self) -> None:
        """Have the disk keep what was appended.

        Raises:
            LogFileError: if it cannot.
        """
        self.log.flush()
        for index in (self.offset_index, self.time_index, self.transaction_index):
            index.flush()

    def close(self) -> None:
        """Finish the indexes and close the files; slices stay readable.

        Raises:
            LogFileError: if the disk is full or broken.
        """
        self.seal()

    def rename(self, state: str) -> None:
        """Change the state in the names of its files, such as `.swap`; none for empty.

        Raises:
            LogFileError: if that fails.
        """
        folder = self.log.path.parent
        for suffix, file in (
            (names.OFFSET_INDEX, self.offset_index),
            (names.TIME_INDEX, self.time_index),
            (names.TRANSACTION_INDEX, self.transaction_index),
            (names.LOG, self.log),
        ):
            file.rename(names.numbered_path(folder, self.base_offset, suffix + state))

    def delete(self) -> None:
        """Delete its files, the log first; slices stay readable.

        Raises:
            LogFileError: if that fails.
        """
        self.offset_index.close()
        self.time_index.close()
        for file in (self.log, self.offset_index, self.time_index, self.transaction_index):
            with disk_faults(file.path):
                file.path.unlink(missing_ok=True)

    def _index(self, batch: RecordBatch, position: int) -> None:
        """Record the timestamps of a batch, and an index entry if it is time for one."""
        if not position:
            self._first_timestamp = batch.max_timestamp
        if batch.max_timestamp > self.largest_timestamp_offset.timestamp:
            self._largest = TimestampOffset(batch.max_timestamp, batch.last_offset)
        if self._since_index_bytes > self._interval_bytes:
            self.offset_index.append(batch.last_offset, position)
            self.time_index.maybe_append(*self.largest_timestamp_offset)
            self._since_index_bytes = 0
        self._since_index_bytes += batch.size_in_bytes

    def _last_head(self) -> BatchHead | None:
        self._check_indexes()
        last = None
        for last in self.log.heads(self.offset_index.lookup(names.MAX_OFFSET).position):  # noqa: B007 - its last value counts
            pass
        return last

    def _read_largest_timestamp(self) -> TimestampOffset:
        """Return the largest timestamp by the time index and the batches after its last entry."""
        largest = self.time_index.last_entry
        for head in self.log.heads(self.offset_index.lookup(largest.offset).position):
            if head.max_timestamp > largest.timestamp:
                largest = TimestampOffset(head.max_timestamp, head.last_offset)
        return largest

    def _seal_time_index(self) -> None:
        if self.largest_timestamp_offset.timestamp > NO_TIMESTAMP:
            self.time_index.maybe_append(*self.largest_timestamp_offset)

    def _check_indexes(self) -> None:
        """Check the indexes when they are first used, and rebuild damaged ones."""
        if self._is_checked:
            return
        self._is_checked = True
        try:
            self.offset_index.check(self.log.size)
            self.time_index.check()
        except LogFileError:
            self._reset_indexes()
            for head in _heads_until_fault(self.log):
                self._index(self.log.batch_at(head), head.position)
            self._seal_time_index()

    def _reset_indexes(self) -> None:
        self._is_checked = True
        for index in (self.offset_index, self.time_index):
            index.close()
            with disk_faults(index.path):
                index.path.unlink(missing_ok=True)
            index.reset()
        self._largest, self._first_timestamp = None, None
        self._since_index_bytes = 0


def _heads_until_fault(log: FileRecords) -> Iterator[BatchHead]:
    """Yield the headers of batches up to the first place where there is none."""
    try:
        yield from log.heads()
    except LogFileError as error:
        if error.offset is None:
            raise
