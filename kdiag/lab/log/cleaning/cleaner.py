"""The cleaner: finds the dirty part of a log, and writes segments anew without what is outdated.

    0        clean        first dirty          first uncleanable       end
    |---------------------|--------------------|----- active ... ------|

The dirty part is read first: it tells the last offset of each key. Then every segment before the
first uncleanable offset is written anew, small ones together, and each result takes the place of
what it was made from, by renaming. The active segment, what follows an open transaction, and what
is younger than `min.compaction.lag.ms` are not touched.

    part = cleanable_part(log, cleaned_offset)
    if is_due(log, part):
        cleaning = LogCleaning(log, part)
        for _ in cleaning.steps():
            ...                         # after a few milliseconds; the log may be used here
        cleaned_offset = cleaning.cleaned_offset

Source: Kafka's `LogCleaner`, `Cleaner`, `LogCleanerManager`.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_MS
from kdiag.errors import DecodeError
from kdiag.lab.log.cleaning.batch_filter import FilterTerms, LastRecord, filter_batch
from kdiag.lab.log.cleaning.cleaned_transactions import CleanedTransactions
from kdiag.lab.log.cleaning.key_offsets import KeyOffsets
from kdiag.lab.log.files import names
from kdiag.lab.log.files.checkpoint import TopicPartition
from kdiag.lab.log.partition_log import PartitionLog
from kdiag.lab.log.refusal import LogFileError, LogRefusedError, disk_faults
from kdiag.lab.log.segment import LogSegment
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches

STEP_BYTES: Final = 1 << 18
"""The bytes that a step reads, unless a batch is larger or a segment smaller."""


class CleanablePart(NamedTuple):
    """The part of a log that can be cleaned.

    Attributes:
        first_dirty_offset: from where on nothing was cleaned yet.
        first_uncleanable_offset: the end; not less than the other.
    """

    first_dirty_offset: int
    first_uncleanable_offset: int


def cleanable_part(log: PartitionLog, cleaned_offset: int) -> CleanablePart:
    """Return the part of a log that can be cleaned now.

    Args:
        log: a compacted log.
        cleaned_offset: up to where the last cleaning came.

    Raises:
        LogFileError: if the log is damaged.
    """
    dirty = cleaned_offset
    if not log.log_start_offset <= dirty <= log.log_end_offset:
        dirty = log.log_start_offset
    uncleanable = min(log.last_stable_offset, log.segments.active.base_offset)
    lag_ms = log.config.min_compaction_lag_ms
    if lag_ms:
        for segment in log.segments.from_offset(dirty):
            if segment.largest_timestamp > log.now_ms - lag_ms:
                uncleanable = min(uncleanable, segment.base_offset)
                break
    return CleanablePart(dirty, max(dirty, uncleanable))


def dirty_ratio(log: PartitionLog, part: CleanablePart) -> float:
    """Return the share of dirty bytes in what can be cleaned; 0 if there are none."""
    dirty = clean = 0
    for segment in log.segments:
        if segment.base_offset < part.first_dirty_offset:
            clean += segment.size
        elif segment.base_offset < part.first_uncleanable_offset:
            dirty += segment.size
    return dirty / (clean + dirty) if dirty else 0.0


def is_due(log: PartitionLog, part: CleanablePart) -> bool:
    """Return whether a log is dirty enough, or has waited for `max.compaction.lag.ms`.

    Raises:
        LogFileError: if the log is damaged.
    """
    if not log.config.is_compacted or part.first_dirty_offset >= part.first_uncleanable_offset:
        return False
    ratio = dirty_ratio(log, part)
    if ratio > 0 and ratio >= log.config.min_cleanable_dirty_ratio:
        return True
    first = log.segments.floor(part.first_dirty_offset)
    timestamp = None if first is None else first.first_batch_timestamp
    return timestamp is not None and log.now_ms - timestamp > log.config.max_compaction_lag_ms


def dirtiest(
    logs: Mapping[TopicPartition, PartitionLog],
    cleaned_offsets: Mapping[TopicPartition, int],
    on_damage: Callable[[TopicPartition, LogFileError], None],
) -> tuple[TopicPartition, CleanablePart] | None:
    """Return the log that needs a cleaning most, and its part; None if no log is due.

    Args:
        logs: those of a broker.
        cleaned_offsets: up to where each was cleaned; 0 for one that is not there.
        on_damage: hears of a log that is damaged; it is passed over.
    """
    due = []
    for key, log in logs.items():
        if not log.config.is_compacted:
            continue
        try:
            part = cleanable_part(log, cleaned_offsets.get(key, 0))
            if is_due(log, part):
                due.append((dirty_ratio(log, part), key, part))
        except LogFileError as error:
            on_damage(key, error)
    if not due:
        return None
    _, key, part = max(due)
    return key, part


class LogCleaning:
    """One cleaning of one log.

    Attributes:
        cleaned_offset: up to where the log is clean: where the next cleaning begins.
        log: the log.
        is_abandoned: whether the log lost segments meanwhile (it was truncated, or they were
            deleted); then the rest was left as it was.
    """

    def __init__(
        self, log: PartitionLog, part: CleanablePart, keys: KeyOffsets | None = None
    ) -> None:
        """Begin to clean a part of a log.

        Args:
            log: the log.
            part: of `cleanable_part`.
            keys: empty; gives its own limit to the memory.
        """
        self.cleaned_offset = part.first_dirty_offset
        self.is_abandoned = False
        self.log = log
        self._part = part
        self._keys = KeyOffsets() if keys is None else keys
        self._now_ms = log.now_ms

    def run(self) -> None:
        """Clean it at once.

        Raises:
            LogFileError: if the log is damaged, or the disk is full or broken.
        """
        for _ in self.steps():
            pass

    def steps(self) -> Iterator[None]:
        """Clean it step by step.

        Raises:
            LogFileError: if the log is damaged, or the disk is full or broken; it is as it was.
        """
        oldest_ms = self._old_tombstone_horizon_ms()
        limit = self._part.first_uncleanable_offset
        segments = [each for each in self.log.segments if each.base_offset < limit]
        yield from self._read_keys(segments)
        end = self._keys.latest_offset + 1
        if end <= self.cleaned_offset:
            return
        transactions = CleanedTransactions()
        for group in self._grouped([each for each in segments if each.base_offset < end]):
            yield from self._clean_group(group, transactions, oldest_ms)
            if self.is_abandoned:
                return
        self.cleaned_offset = end

    def _old_tombstone_horizon_ms(self) -> int:
        """Return the age of a file from which on its tombstones of magic 0 and 1 go."""
        clean = [
            segment
            for segment in self.log.segments
            if segment.base_offset < self._part.first_dirty_offset
        ]
        if not clean:
            return 0
        return clean[-1].last_modified_ms - self.log.config.delete_retention_ms

    def _read_keys(self, segments: Sequence[LogSegment]) -> Iterator[None]:
        """Read the last offset of each key of the dirty part."""
        start, end = self._part
        transactions = CleanedTransactions()
        transactions.add_aborted(self.log.aborted_transactions(start, end))
        for segment in segments:
            for batch in _stepping(segment, start):
                if batch is None:
                    yield
                elif not self._put_keys(segment, batch, transactions):
                    return
        self._keys.latest_offset = end - 1

    def _put_keys(
        self, segment: LogSegment, batch: RecordBatch, transactions: CleanedTransactions
    ) -> bool:
        """Record the keys of a batch; return whether there was room for all."""
        try:
            if not transactions.is_discarded(batch) and not batch.is_control:
                for record in batch.records():
                    if record.key is None or record.offset < self._part.first_dirty_offset:
                        continue
                    if not self._keys.put(record.key, record.offset):
                        return False
        except (DecodeError, LogRefusedError) as error:
            raise _damage(segment, batch, error) from None
        self._keys.latest_offset = max(self._keys.latest_offset, batch.last_offset)
        return True

    def _grouped(self, segments: Sequence[LogSegment]) -> Iterator[list[LogSegment]]:
        """Yield segments that fit into one, if nothing of them went."""
        config = self.log.config
        ends = [after.base_offset for _, after in pairwise(segments)]
        ends.append(self._part.first_uncleanable_offset)
        group: list[LogSegment] = []
        for segment, end in zip(segments, ends, strict=True):
            size = sum(each.size for each in group) + segment.size
            entries = sum(len(each.offset_index) for each in group) + len(segment.offset_index)
            is_too_much = (
                size > config.segment_bytes
                or entries * segment.time_index.ENTRY.size > config.segment_index_bytes
                or not (group or [segment])[0].offset_index.fits(end - 1)
            )
            if group and is_too_much:
                yield group
                group = []
            group.append(segment)
        if group:
            yield group

    def _clean_group(
        self, group: Sequence[LogSegment], transactions: CleanedTransactions, oldest_ms: int
    ) -> Iterator[None]:
        """Write a group of segments anew, and put the result into their place."""
        log = self.log
        base_offset = group[0].base_offset
        if self._has_lost(group):
            return
        _remove_leftovers(log, base_offset)
        cleaned = LogSegment(log.folder, base_offset, log.config, log.clock, names.CLEANED)
        try:
            for segment in group:
                following = log.segments.after(segment)
                end = log.log_end_offset if following is None else following.base_offset
                transactions.add_aborted(log.aborted_transactions(segment.base_offset, end))
                terms = self._terms(segment, oldest_ms)
                yield from self._clean_into(cleaned, segment, transactions, terms)
            cleaned.seal()
            _set_modified(cleaned, group[-1].last_modified_ms)
        except BaseException:
            cleaned.delete()
            raise
        if self._has_lost(group):
            cleaned.delete()
        else:
            log.replace_segments(cleaned, group)

    def _has_lost(self, group: Sequence[LogSegment]) -> bool:
        """Give the log up if one of these segments is gone, or active again; return whether."""
        sealed = [*self.log.segments][:-1]
        self.is_abandoned = any(segment not in sealed for segment in group)
        return self.is_abandoned

    def _terms(self, segment: LogSegment, oldest_ms: int) -> FilterTerms:
        producers = {
            producer_id: LastRecord(entry.last_data_offset, entry.epoch)
            for producer_id, entry in self.log.producers.producers.items()
        }
        return FilterTerms(
            self._keys,
            producers,
            self._part.first_uncleanable_offset,
            self._now_ms,
            self.log.config.delete_retention_ms,
            keeps_old_tombstones=segment.last_modified_ms > oldest_ms,
        )

    def _clean_into(
        self,
        cleaned: LogSegment,
        segment: LogSegment,
        transactions: CleanedTransactions,
        terms: FilterTerms,
    ) -> Iterator[None]:
        """Append to a segment what is left of another."""
        for batch in _stepping(segment, segment.base_offset):
            if batch is None:
                yield
                continue
            try:
                left = filter_batch(batch, transactions, terms)
            except (DecodeError, LogRefusedError) as error:
                raise _damage(segment, batch, error) from None
            if left is not None:
                cleaned.append(left, read_batches(left).batches)
            for aborted in transactions.kept:
                cleaned.transaction_index.append(aborted)
            transactions.kept.clear()


def _stepping(segment: LogSegment, offset: int) -> Iterator[RecordBatch | None]:
    """Yield the batches of a segment from an offset on, and None wherever a step ends."""
    read_bytes = 0
    for batch in segment.batches(offset):
        yield batch
        read_bytes += batch.size_in_bytes
        if read_bytes >= STEP_BYTES:
            read_bytes = 0
            yield None
    yield None


def _damage(segment: LogSegment, batch: RecordBatch, error: Exception) -> LogFileError:
    why = f"the batch with offset {batch.last_offset}: {error}"
    return LogFileError(segment.log.path, why)


def _remove_leftovers(log: PartitionLog, base_offset: int) -> None:
    """Remove what a cleaning that failed may have left."""
    for suffix in names.SEGMENT_SUFFIXES:
        path = names.numbered_path(log.folder, base_offset, suffix + names.CLEANED)
        with disk_faults(path):
            path.unlink(missing_ok=True)


def _set_modified(segment: LogSegment, modified_ms: int) -> None:
    """Give a cleaned segment the age of what it was made from."""
    time_ns = modified_ms * NS_PER_MS
    with disk_faults(segment.log.path):
        os.utime(segment.log.path, ns=(time_ns, time_ns))
