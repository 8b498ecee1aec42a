"""Opening a log: what a clean shutdown left is trusted, what a crash left is read again.

    1. files of an interrupted compaction are removed, or take the place that was meant for them;
    2. after a crash every segment from the recovery point on is read, cut at the first damaged
       batch, and its indexes are rebuilt; what comes after a cut is deleted, as Kafka does;
    3. producers come from the last snapshot and the batches after it.

Everything before the recovery point was flushed. A segment without an index, or with a damaged one,
gets a new one in any case.

Source: Kafka's `LogLoader`, `UnifiedLog.rebuildProducerState`.
"""

from pathlib import Path
from typing import NamedTuple

from kdiag.clock import NS_PER_MS, Clock
from kdiag.exchange.secrets.new_file import make_private_folder
from kdiag.lab.log import leader_epochs
from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.files import names
from kdiag.lab.log.files.file_records import FileRecords
from kdiag.lab.log.files.names import NumberedFile, numbered_path, parse_numbered
from kdiag.lab.log.leader_epochs import LeaderEpochs
from kdiag.lab.log.producers.append_info import AppendOrigin, CompletedTransaction
from kdiag.lab.log.producers.state import ProducerStateManager
from kdiag.lab.log.refusal import LogFileError, LogRefusedError, disk_faults
from kdiag.lab.log.segment import LogSegment
from kdiag.lab.log.segments import LogSegments
from kdiag.wire.records.batch import MAGIC_2, RecordBatch


class LogOrigin(NamedTuple):
    """What is known of a log before it is opened; the defaults are those of a new one.

    Attributes:
        recovery_point: everything before that offset was flushed.
        log_start_offset: nothing before that offset is to be read.
        was_closed: whether the last process closed it.
    """

    recovery_point: int = 0
    log_start_offset: int = 0
    was_closed: bool = False


class LoadedLog(NamedTuple):
    """The parts of a log.

    Attributes:
        segments: at least one.
        producers: up to the end.
        epochs: likewise.
        log_start_offset: the first offset that may be read.
        log_end_offset: the offset of the next record.
    """

    segments: LogSegments
    producers: ProducerStateManager
    epochs: LeaderEpochs
    log_start_offset: int
    log_end_offset: int


def load(folder: Path, config: LogConfig, clock: Clock, origin: LogOrigin) -> LoadedLog:
    """Return a log as its folder has it, repaired.

    Raises:
        LogFileError: if the disk is broken, or a file contradicts its format beyond repair.
    """
    return _Loader(folder, config, clock, origin).load()


def apply_batch(
    state: ProducerStateManager, batch: RecordBatch
) -> tuple[CompletedTransaction, int] | None:
    """Tell the producers of a batch that is in the log.

    Returns:
        the transaction that it ended, and the last stable offset then; None if it ended none.

    Raises:
        LogRefusedError: if it contradicts the batches before it.
    """
    ended = None
    if batch.producer_id >= 0:
        info = state.prepare(batch.producer_id, AppendOrigin.REPLICATION)
        completed = info.append(batch)
        state.update(info)
        if completed is not None:
            ended = completed, state.last_stable_offset_after(completed)
            state.complete(completed)
    state.map_end_offset = batch.last_offset + 1
    return ended


def rebuild_producers(
    state: ProducerStateManager, segments: LogSegments, start: int, end: int, now_ms: int
) -> None:
    """Bring producers to the end of a log: from a snapshot, and the batches after it.

    Args:
        state: the producers.
        segments: of the log.
        start: the start offset of the log.
        end: the offset at which to stop.
        now_ms: the time, for producers that have expired.

    Raises:
        LogFileError: if the log is damaged.
    """
    state.truncate_and_reload(start, end, now_ms)
    for segment in segments.from_offset(state.map_end_offset):
        if segment.base_offset >= end:
            break
        state.map_end_offset = max(state.map_end_offset, segment.base_offset)
        if segment.base_offset == state.map_end_offset:
            state.write_snapshot()
        for batch in segment.batches(state.map_end_offset):
            if batch.last_offset >= end:
                break
            _apply_known(state, segment, batch)
    state.map_end_offset = end


class _Loader:
    """Opens one log."""

    def __init__(self, folder: Path, config: LogConfig, clock: Clock, origin: LogOrigin) -> None:
        self._folder = folder
        self._config = config
        self._clock = clock
        self._origin = origin
        self._now_ms = clock.epoch_ns() // NS_PER_MS
        self._segments = LogSegments()
        with disk_faults(folder):
            make_private_folder(folder)
        self._epochs = LeaderEpochs(folder / leader_epochs.FILE_NAME)

    def load(self) -> LoadedLog:
        """Return the log."""
        self._finish_swaps()
        self._open_segments()
        self._recover()
        end = self._segments.active.next_offset() if len(self._segments) else -1
        start = self._origin.log_start_offset
        if end < start:
            for segment in self._segments:
                self._delete(segment)
            self._epochs.clear()
            self._segments.add(LogSegment(self._folder, start, self._config, self._clock))
            end = start
        self._epochs.truncate_from_end(end)
        self._epochs.truncate_from_start(start)
        start = max(start, self._segments.first.base_offset)
        producers = self._producers()
        producers.remove_stray_snapshots({*self._segments.base_offsets})
        rebuild_producers(producers, self._segments, start, end, self._now_ms)
        return LoadedLog(self._segments, producers, self._epochs, start, end)

    def _producers(self) -> ProducerStateManager:
        return ProducerStateManager(self._folder, self._config.producer_id_expiration_ms)

    def _listed(self) -> list[tuple[Path, NumberedFile]]:
        """Return the numbered files of the folder, in their order."""
        with disk_faults(self._folder):
            paths = sorted(path for path in self._folder.iterdir() if path.is_file())
        named = ((path, parse_numbered(path.name)) for path in paths)
        return [(path, name) for path, name in named if name is not None]

    def _finish_swaps(self) -> None:
        """Undo a compaction that was cut short, or finish one that only had to rename.

        Files `.cleaned` are incomplete, and so are the `.swap` from their offset on: they are
        renamed last to first. Once only `.swap` are left, they replace what they were made from.
        """
        listed = self._listed()
        cleaned = [name.base_offset for _, name in listed if name.state == names.CLEANED]
        unfinished = min(cleaned, default=names.MAX_OFFSET + 1)
        for path, name in listed:
            if name.state in {names.DELETED, names.CLEANED} or (
                name.state == names.SWAP and name.base_offset >= unfinished
            ):
                _unlink(path)
        swaps = [(path, name) for path, name in self._listed() if name.state == names.SWAP]
        for _, name in swaps:
            if name.kind == names.LOG:
                self._delete_replaced(name.base_offset)
        for path, name in swaps:
            with disk_faults(path):
                path.rename(numbered_path(self._folder, name.base_offset, name.kind))

    def _delete_replaced(self, base_offset: int) -> None:
        """Delete the segments that a `.swap` was made from."""
        swap = FileRecords(numbered_path(self._folder, base_offset, names.LOG + names.SWAP))
        end = max((head.last_offset + 1 for head in swap.heads()), default=base_offset)
        for path, name in self._listed():
            if not name.state and base_offset <= name.base_offset < max(end, base_offset + 1):
                _unlink(path)

    def _open_segments(self) -> None:
        listed = [(path, name) for path, name in self._listed() if not name.state]
        logs = {name.base_offset for _, name in listed if name.kind == names.LOG}
        for path, name in listed:
            if name.kind in names.SEGMENT_SUFFIXES and name.base_offset not in logs:
                _unlink(path)
        for base_offset in sorted(logs):
            has_indexes = all(
                numbered_path(self._folder, base_offset, suffix).exists()
                for suffix in (names.OFFSET_INDEX, names.TIME_INDEX)
            )
            segment = LogSegment(self._folder, base_offset, self._config, self._clock)
            self._segments.add(segment)
            if self._origin.was_closed and (not has_indexes or not _is_sound(segment)):
                self._recover_from(segment)

    def _recover(self) -> None:
        """Read what may not have been flushed, and a last segment that is torn all the same."""
        if not len(self._segments):
            return
        if not self._origin.was_closed:
            self._recover_from(*self._segments.from_offset(self._origin.recovery_point))
        elif not self._segments.active.is_whole():
            self._recover_from(self._segments.active)

    def _recover_from(self, *segments: LogSegment) -> None:
        """Read segments that follow one another, and delete those after one that was cut."""
        if not segments:
            return
        state = self._producers()
        start, end = self._origin.log_start_offset, segments[0].base_offset
        rebuild_producers(state, self._segments, start, end, self._now_ms)
        cut = 0
        for segment in segments:
            if cut:
                self._delete(segment)
                continue
            cut = segment.recover(lambda batch, at=segment: self._apply(state, at, batch))  # type: ignore[misc]
            state.write_snapshot()

    def _apply(self, state: ProducerStateManager, segment: LogSegment, batch: RecordBatch) -> None:
        """Tell epochs, producers and the transaction index of a recovered batch."""
        if batch.magic == MAGIC_2 and batch.partition_leader_epoch >= 0:
            latest = self._epochs.latest
            if latest is None or batch.partition_leader_epoch > latest.epoch:
                self._epochs.assign(batch.partition_leader_epoch, max(batch.base_offset, 0))
        ended = _apply_known(state, segment, batch)
        if ended is not None:
            segment.append_to_transaction_index(*ended)

    def _delete(self, segment: LogSegment) -> None:
        self._segments.remove(segment)
        segment.delete()
        snapshot = numbered_path(self._folder, segment.base_offset, names.SNAPSHOT)
        _unlink(snapshot)


def _apply_known(
    state: ProducerStateManager, segment: LogSegment, batch: RecordBatch
) -> tuple[CompletedTransaction, int] | None:
    """Apply a batch whose checksum is right: what is wrong with it now is no torn write."""
    try:
        return apply_batch(state, batch)
    except LogRefusedError as error:
        why = f"the batch with offset {batch.last_offset}: {error}"
        raise LogFileError(segment.log.path, why) from None


def _is_sound(segment: LogSegment) -> bool:
    """Return whether the indexes of a segment can be used."""
    try:
        segment.transaction_index.entries()
        return bool(len(segment.offset_index) + len(segment.time_index) + 1)
    except LogFileError:
        return False


def _unlink(path: Path) -> None:
    with disk_faults(path):
        path.unlink(missing_ok=True)
