"""The log of a partition: what a leader appends, what followers and consumers read.

Theory of operation. Offsets go up in this order, and each is a bound for some reader:

    log start <= last stable offset <= high watermark <= log end
    records deleted   open transactions     not replicated

`append_as_leader` gives offsets and refuses what is wrong; `append_as_follower` writes what the
leader gave. Who is above (the partition, with its replicas) moves the high watermark. The *last
stable offset* follows from it and from the producers: it is the first offset of the oldest open
transaction. A read goes up to the bound of its isolation and gives a slice of a file.

    log = PartitionLog.open(folder, LogConfig(), clock)
    log.append_as_leader(records, leader_epoch=0)       # LogAppendInfo(first_offset=0, ...)
    log.update_high_watermark(log.log_end_offset)
    log.read(0, 1 << 20, FetchIsolation.HIGH_WATERMARK).slice

What has returned from an append is in the system's page cache and survives `kill -9`. Nothing is
flushed but by `flush` and `close`: a flush takes as long as the disk does, and who calls has one
thread. (Kafka's threads also flush a segment once another is active.)

Source: Kafka's `UnifiedLog`, `LocalLog`.
"""

from collections.abc import Sequence
from enum import Enum, auto
from pathlib import Path
from typing import Final, NamedTuple, Self

from kdiag.clock import NS_PER_MS, Clock
from kdiag.lab.log import loader
from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.files import names
from kdiag.lab.log.files.checkpoint import EpochEntry
from kdiag.lab.log.files.file_records import FileSlice
from kdiag.lab.log.files.partition_metadata import read_topic_id, write_topic_id
from kdiag.lab.log.files.transaction_index import AbortedTransaction
from kdiag.lab.log.loader import LoadedLog, LogOrigin
from kdiag.lab.log.log_offset import LogOffsetMetadata, LogOffsetSnapshot
from kdiag.lab.log.producers.append_info import (
    AppendOrigin,
    CompletedTransaction,
    ProducerAppendInfo,
)
from kdiag.lab.log.producers.entry import BatchMetadata
from kdiag.lab.log.refusal import LogFileError, LogRefusedError
from kdiag.lab.log.segment import LogSegment
from kdiag.lab.log.validation import Appendable, AppendTerms, assign_offsets, read_appendable
from kdiag.wire.records.batch import MAGIC_2, RecordBatch
from kdiag.wire.records.record import NO_TIMESTAMP

_KEPT_POSITIONS: Final = 16
"""As many offsets are asked for again: the bounds, and where fetches wait."""


class FetchIsolation(Enum):
    """How far a reader may read."""

    LOG_END = auto()
    """A follower."""
    HIGH_WATERMARK = auto()
    """A consumer."""
    TXN_COMMITTED = auto()
    """A consumer that reads committed records only."""


class LogAppendInfo(NamedTuple):
    """The result of an append.

    Attributes:
        first_offset: of the first record; -1 if there was no whole batch.
        last_offset: of the last record.
        log_append_time: for the response: -1 unless the topic has LogAppendTime.
        log_start_offset: of the log.
        is_duplicate: whether the batch was there before, at these offsets.
        size_in_bytes: the bytes written.
    """

    first_offset: int
    last_offset: int
    log_append_time: int
    log_start_offset: int
    is_duplicate: bool = False
    size_in_bytes: int = 0


class LogRead(NamedTuple):
    """The result of a read.

    Attributes:
        start: what was asked for.
        slice: the bytes, from the batch that holds it on; None if there is nothing to read yet.
        is_first_cut: whether not even the first batch is whole.
        aborted: the aborted transactions among them, for readers of committed records.
    """

    start: LogOffsetMetadata
    slice: FileSlice | None = None
    is_first_cut: bool = False
    aborted: tuple[AbortedTransaction, ...] = ()

    @property
    def size(self) -> int:
        """Return the bytes that were found."""
        return 0 if self.slice is None else self.slice.size


class PartitionLog:
    """The log of a partition, open.

    Attributes:
        folder: of its files; its name is `topic-partition`.
        config: its settings; assign others at any time.
        clock: its wall clock counts.
        segments: in order; the last is active.
        producers: of the partition.
        epochs: of its leaders.
        log_start_offset: the first offset that may be read.
        log_end_offset: the offset of the next record.
        recovery_point: everything before that offset was flushed.
        high_watermark: the first offset that is not replicated.
        topic_id: sixteen bytes; None if the topic has none.
    """

    def __init__(self, folder: Path, config: LogConfig, clock: Clock, loaded: LoadedLog) -> None:
        """Take over what the loader found; see `open`."""
        self.folder = folder
        self.config = config
        self.clock = clock
        self.segments = loaded.segments
        self.producers = loaded.producers
        self.epochs = loaded.epochs
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.recovery_point = loaded.log_start_offset
        self.high_watermark = loaded.log_start_offset
        self.topic_id = read_topic_id(folder)
        self._positions: dict[int, LogOffsetMetadata] = {}

    @classmethod
    def open(
        cls, folder: Path, config: LogConfig, clock: Clock, origin: LogOrigin | None = None
    ) -> Self:
        """Open a log, or make it.

        Args:
            folder: of the partition; made if it is not there.
            config: its settings.
            clock: its wall clock counts.
            origin: what checkpoints say of it; None reads all of it.

        Raises:
            LogFileError: if the disk is broken, or a file contradicts its format beyond repair.
        """
        known = origin or LogOrigin()
        log = cls(folder, config, clock, loader.load(folder, config, clock, known))
        is_flushed = known.was_closed
        end = log.log_end_offset
        log.recovery_point = end if is_flushed else min(known.recovery_point, end)
        return log

    def __repr__(self) -> str:
        return (
            f"<PartitionLog {self.folder.name}: {self.log_start_offset} to {self.log_end_offset}>"
        )

    @property
    def now_ms(self) -> int:
        """Return the time in milliseconds since 1970."""
        return self.clock.epoch_ns() // NS_PER_MS

    @property
    def size_in_bytes(self) -> int:
        """Return the bytes of all segments."""
        return self.segments.size_in_bytes

    @property
    def last_stable_offset(self) -> int:
        """Return the first offset that a reader of committed records may not read."""
        unstable = self.producers.first_unstable_offset
        if unstable is None:
            return self.high_watermark
        return min(max(unstable, self.log_start_offset), self.high_watermark)

    def append_as_leader(
        self,
        records: bytes | memoryview,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> LogAppendInfo:
        """Append batches of a producer or a coordinator, and give them offsets.

        Raises:
            LogRefusedError: with the error of the response; nothing is appended.
            LogFileError: if the disk is full or broken; nothing is appended, unless it was a marker
                whose entry in the transaction index could not be written.
        """
        came = read_appendable(records, self.config, origin)
        if not came.batches:
            return LogAppendInfo(-1, -1, NO_TIMESTAMP, self.log_start_offset)
        now_ms = self.now_ms
        terms = AppendTerms(self.log_end_offset, leader_epoch, now_ms, origin)
        appendable = assign_offsets(came, self.config, terms)
        duplicate = self._duplicate(appendable.batches, origin)
        if duplicate is not None:
            return LogAppendInfo(
                duplicate.first_offset,
                duplicate.last_offset,
                duplicate.timestamp,
                self.log_start_offset,
                is_duplicate=True,
            )
        first_offset = self.log_end_offset
        self._append(appendable, origin, now_ms)
        return LogAppendInfo(
            first_offset,
            self.log_end_offset - 1,
            now_ms if self.config.is_stamped else NO_TIMESTAMP,
            self.log_start_offset,
            size_in_bytes=len(appendable.data),
        )

    def append_as_follower(self, records: bytes | memoryview) -> LogAppendInfo:
        """Append batches as the leader has them.

        Raises:
            LogRefusedError: if one is damaged, or its offsets do not follow; nothing is appended.
            LogFileError: if the disk is full or broken; nothing is appended.
        """
        came = read_appendable(records, self.config, AppendOrigin.REPLICATION)
        if not came.batches:
            return LogAppendInfo(-1, -1, NO_TIMESTAMP, self.log_start_offset)
        next_offset = self.log_end_offset
        for batch in came.batches:
            first = _first_known_offset(batch)
            if first < next_offset or batch.last_offset < first:
                why = f"offsets {first} to {batch.last_offset}, expected {next_offset} or more"
                raise LogRefusedError("OFFSET_OUT_OF_RANGE", why)
            next_offset = batch.last_offset + 1
        self._append(came, AppendOrigin.REPLICATION, self.now_ms)
        return LogAppendInfo(
            _first_known_offset(came.batches[0]),
            self.log_end_offset - 1,
            NO_TIMESTAMP,
            self.log_start_offset,
            size_in_bytes=len(came.data),
        )

    def read(
        self,
        offset: int,
        max_bytes: int,
        isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK,
        *,
        is_one_whole: bool = True,
    ) -> LogRead:
        """Return the bytes from an offset on, up to the bound of an isolation.

        Args:
            offset: the first that is wanted; the first batch may begin before it.
            max_bytes: the most bytes; the last batch may be cut.
            isolation: how far the reader may read.
            is_one_whole: whether to give the first batch even if it is larger than that.

        Raises:
            LogRefusedError: OFFSET_OUT_OF_RANGE.
            LogFileError: if the log is damaged there.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            why = f"offset {offset}; the log has {self.log_start_offset} to {self.log_end_offset}"
            raise LogRefusedError("OFFSET_OUT_OF_RANGE", why)
        bound = self.position_of(self._bound_of(isolation))
        if offset >= bound.message_offset:
            return LogRead(self.position_of(offset) if offset == bound.message_offset else bound)
        segment = self.segments.floor(offset)
        while segment is not None and segment.base_offset <= bound.segment_base_offset:
            end = (
                bound.relative_position
                if segment.base_offset == bound.segment_base_offset
                else None
            )
            found = segment.read(offset, max_bytes, end=end, is_one_whole=is_one_whole)
            if found is not None:
                start = LogOffsetMetadata(offset, segment.base_offset, found.slice.position)
                aborted: tuple[AbortedTransaction, ...] = ()
                if isolation is FetchIsolation.TXN_COMMITTED:
                    aborted = self._aborted_in(segment, offset, found.slice)
                return LogRead(start, found.slice, found.is_first_cut, aborted)
            segment = self.segments.after(segment)
        return LogRead(bound)

    def aborted_transactions(
        self, start_offset: int, upper_bound: int
    ) -> tuple[AbortedTransaction, ...]:
        """Return the aborted transactions that overlap a range of offsets.

        Raises:
            LogFileError: if a transaction index is damaged.
        """
        collected: list[AbortedTransaction] = []
        for segment in self.segments.from_offset(start_offset):
            found, is_complete = segment.transaction_index.collect(start_offset, upper_bound)
            collected += found
            if is_complete:
                break
        return tuple(collected)

    def offset_snapshot(self) -> LogOffsetSnapshot:
        """Return the ends of the log, and where they are.

        Raises:
            LogFileError: if the log is damaged there.
        """
        return LogOffsetSnapshot(
            self.log_start_offset,
            self.position_of(self.log_end_offset),
            self.position_of(self.high_watermark),
            self.position_of(self.last_stable_offset),
        )

    def position_of(self, offset: int) -> LogOffsetMetadata:
        """Return where an offset is; the end of the log for one that has no batch yet.

        Raises:
            LogFileError: if the log is damaged there.
        """
        active = self.segments.active
        if offset >= self.log_end_offset:
            return LogOffsetMetadata(offset, active.base_offset, active.size)
        found = self._positions.get(offset)
        if found is None:
            segment = self.segments.floor(offset) or self.segments.first
            head = segment.locate(offset)
            position = segment.size if head is None else head.position
            found = LogOffsetMetadata(offset, segment.base_offset, position)
            if len(self._positions) >= _KEPT_POSITIONS:
                self._positions.clear()
            self._positions[offset] = found
        return found

    def update_high_watermark(self, offset: int) -> int:
        """Move the high watermark, within the log, and return it."""
        self.high_watermark = max(self.log_start_offset, min(offset, self.log_end_offset))
        self.producers.handle_high_watermark(self.high_watermark)
        return self.high_watermark

    def end_offset_for_epoch(self, epoch: int) -> EpochEntry | None:
        """Return the largest epoch that is not above a given one, and where it ends (KIP-320)."""
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    def increment_log_start(self, offset: int) -> bool:
        """Delete the records before an offset; return whether there were any.

        Raises:
            LogRefusedError: OFFSET_OUT_OF_RANGE beyond the high watermark.
            LogFileError: if the disk is full or broken.
        """
        if offset > self.high_watermark:
            why = f"offset {offset} is beyond the high watermark {self.high_watermark}"
            raise LogRefusedError("OFFSET_OUT_OF_RANGE", why)
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        self.producers.handle_log_start(offset)
        return True

    def roll(self, next_offset: int | None = None) -> LogSegment:
        """Begin a new segment; return the active one if it is empty.

        Args:
            next_offset: its base offset, if records are missing at the end of the log.

        Raises:
            LogFileError: if the disk is full or broken.
        """
        base_offset = max(self.log_end_offset, next_offset or 0)
        active = self.segments.active
        if active.base_offset == base_offset and not active.size:
            return active
        self.producers.map_end_offset = base_offset
        self.producers.write_snapshot()
        active.seal()
        segment = LogSegment(self.folder, base_offset, self.config, self.clock)
        self.segments.add(segment)
        return segment

    def flush(self) -> None:
        """Have the disk keep everything: what comes before need not be read after a crash.

        Raises:
            LogFileError: if it cannot.
        """
        if self.recovery_point < self.log_end_offset:
            for segment in self.segments.from_offset(self.recovery_point):
                segment.flush()
            self.recovery_point = self.log_end_offset

    def truncate_to(self, offset: int) -> bool:
        """Cut the log from an offset on; return whether there was anything.

        Raises:
            LogFileError: if the disk is broken.
        """
        if offset >= self.log_end_offset:
            return False
        if offset < self.segments.first.base_offset:
            self.truncate_fully(offset)
            return True
        for segment in reversed([*self.segments]):
            if segment.base_offset > offset:
                self.delete_segment(segment)
        self.segments.active.truncate_to(offset)
        self._end_at(offset)
        self.epochs.truncate_from_end(offset)
        self.log_start_offset = min(self.log_start_offset, offset)
        loader.rebuild_producers(
            self.producers, self.segments, self.log_start_offset, offset, self.now_ms
        )
        self.update_high_watermark(min(self.high_watermark, offset))
        return True

    def truncate_fully(self, offset: int) -> None:
        """Delete everything; the log begins anew at an offset.

        Raises:
            LogFileError: if the disk is broken.
        """
        for segment in self.segments:
            self.delete_segment(segment)
        self.segments.add(LogSegment(self.folder, offset, self.config, self.clock))
        self._end_at(offset)
        self.log_start_offset = offset
        self.epochs.clear()
        self.producers.truncate_fully(offset)
        self.update_high_watermark(offset)

    def delete_segment(self, segment: LogSegment) -> None:
        """Delete a segment and the snapshot at its start.

        Raises:
            LogFileError: if that fails.
        """
        self.segments.remove(segment)
        self._positions.clear()
        segment.delete()
        self.producers.delete_snapshot(segment.base_offset)

    def replace_segments(self, cleaned: LogSegment, old: Sequence[LogSegment]) -> None:
        """Put a segment into the place of those that it was made from.

        First it is called `.swap`, so that a crash from here on finds it and finishes the work.

        Raises:
            LogFileError: if that fails; the next start finishes or undoes it.
        """
        cleaned.rename(names.SWAP)
        for segment in old:
            self.segments.remove(segment)
            segment.delete()
            if segment.base_offset != cleaned.base_offset:
                self.producers.delete_snapshot(segment.base_offset)
        cleaned.rename("")
        self.segments.add(cleaned)
        self._positions.clear()

    def assign_topic_id(self, topic_id: bytes) -> None:
        """Record the id of the topic.

        Raises:
            LogFileError: if it has another, or the disk is full or broken.
        """
        if self.topic_id is None:
            write_topic_id(self.folder, topic_id)
            self.topic_id = topic_id
        elif self.topic_id != topic_id:
            raise LogFileError(self.folder, "the log of another topic of the same name")

    def close(self) -> None:
        """Flush, write a snapshot of the producers and close the files; slices stay readable.

        Raises:
            LogFileError: if the disk is full or broken.
        """
        self.producers.map_end_offset = self.log_end_offset
        self.producers.write_snapshot()
        self.flush()
        for segment in self.segments:
            segment.close()

    def _append(self, appendable: Appendable, origin: AppendOrigin, now_ms: int) -> None:
        """Write batches that have their offsets."""
        batches = appendable.batches
        if len(appendable.data) > self.config.segment_bytes:
            why = f"{len(appendable.data)} bytes, a segment has up to {self.config.segment_bytes}"
            raise LogRefusedError("RECORD_LIST_TOO_LARGE", why)
        infos, completed = self._check_producers(batches, origin)
        segment = self.segments.active
        if segment.should_roll(self.config, batches, now_ms):
            is_new = batches[0].magic == MAGIC_2
            segment = self.roll(batches[0].base_offset if is_new else None)
        segment.append(appendable.data, batches)
        self._assign_epochs(batches)
        self.log_end_offset = batches[-1].last_offset + 1
        for info in infos:
            self.producers.update(info)
        for transaction in completed:
            stable = self.producers.last_stable_offset_after(transaction)
            segment.append_to_transaction_index(transaction, stable)
            self.producers.complete(transaction)
        self.producers.map_end_offset = self.log_end_offset

    def _duplicate(
        self, batches: Sequence[RecordBatch], origin: AppendOrigin
    ) -> BatchMetadata | None:
        """Return the batch that a client sends again."""
        entry = self.producers.producers.get(batches[0].producer_id)
        if origin is not AppendOrigin.CLIENT or entry is None:
            return None
        return entry.find_duplicate(batches[0])

    def _check_producers(
        self, batches: Sequence[RecordBatch], origin: AppendOrigin
    ) -> tuple[list[ProducerAppendInfo], list[CompletedTransaction]]:
        """Return what the batches change for their producers.

        Raises:
            LogRefusedError: if an epoch or a sequence is wrong.
        """
        infos: dict[int, ProducerAppendInfo] = {}
        completed = []
        for batch in batches:
            if batch.producer_id < 0:
                continue
            info = infos.get(batch.producer_id)
            if info is None:
                info = infos[batch.producer_id] = self.producers.prepare(batch.producer_id, origin)
            ended = info.append(batch)
            if ended is not None:
                completed.append(ended)
        return [*infos.values()], completed

    def _assign_epochs(self, batches: Sequence[RecordBatch]) -> None:
        """Record the leader epochs of batches; old messages have none, and so has the log then."""
        for batch in batches:
            if batch.magic < MAGIC_2:
                self.epochs.clear()
            elif batch.partition_leader_epoch >= 0:
                self.epochs.assign(batch.partition_leader_epoch, batch.base_offset)

    def _bound_of(self, isolation: FetchIsolation) -> int:
        if isolation is FetchIsolation.LOG_END:
            return self.log_end_offset
        if isolation is FetchIsolation.HIGH_WATERMARK:
            return self.high_watermark
        return self.last_stable_offset

    def _aborted_in(
        self, segment: LogSegment, offset: int, part: FileSlice
    ) -> tuple[AbortedTransaction, ...]:
        """Return the aborted transactions among the records of a slice."""
        upper_bound = segment.upper_bound(part)
        if upper_bound is None:
            following = self.segments.after(segment)
            upper_bound = self.log_end_offset if following is None else following.base_offset
        return self.aborted_transactions(offset, upper_bound)

    def _end_at(self, offset: int) -> None:
        self.log_end_offset = offset
        self.recovery_point = min(self.recovery_point, offset)
        self._positions.clear()


def _first_known_offset(batch: RecordBatch) -> int:
    """Return the offset of the first record; of a message of magic 0 or 1 the last one."""
    return batch.base_offset if batch.magic == MAGIC_2 else batch.last_offset
