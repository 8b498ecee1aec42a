"""All producers of a partition: their sequence numbers, open transactions, and snapshots on disk.

    state = ProducerStateManager(folder, expiration_ms=86_400_000)
    state.truncate_and_reload(log_start, log_end, now_ms)    # from the last snapshot before
    info = state.prepare(producer_id, AppendOrigin.CLIENT)   # what an append would change
    info.append(batch)                                       # raises if it is refused
    state.update(info)

A transaction holds the last stable offset back until its marker is replicated: it is *ongoing*
until the marker is written, then *unreplicated* until the high watermark has passed the marker.

Left out: the verification of transactions with the coordinator (KIP-890), which the broker does.

Source: Kafka's `ProducerStateManager`.
"""

from bisect import insort
from pathlib import Path

from kdiag.lab.log.files.names import SNAPSHOT, numbered_path, parse_numbered
from kdiag.lab.log.producers.append_info import (
    AppendOrigin,
    CompletedTransaction,
    ProducerAppendInfo,
)
from kdiag.lab.log.producers.entry import ProducerStateEntry
from kdiag.lab.log.producers.snapshot import read_snapshot, write_snapshot
from kdiag.lab.log.refusal import LogFileError, disk_faults


class ProducerStateManager:
    """The producers of a partition.

    Attributes:
        producers: by producer id.
        map_end_offset: the first offset that they do not know.
    """

    def __init__(self, folder: Path, expiration_ms: int) -> None:
        """Begin without producers.

        Args:
            folder: of the partition.
            expiration_ms: for how long a producer that writes nothing is remembered.

        Raises:
            LogFileError: if the folder cannot be listed.
        """
        self.producers: dict[int, ProducerStateEntry] = {}
        self.map_end_offset = 0
        self._folder = folder
        self._expiration_ms = expiration_ms
        self._ongoing: dict[int, int] = {}  # first offset -> producer id
        self._unreplicated: dict[int, int] = {}  # first offset -> last offset
        self._snapshots = self._listed_snapshots()
        self._last_snapshot_offset = 0

    @property
    def first_unstable_offset(self) -> int | None:
        """Return the first offset of the oldest transaction that is open or not replicated."""
        return min((*self._ongoing, *self._unreplicated), default=None)

    @property
    def first_undecided_offset(self) -> int | None:
        """Return the first offset of the oldest open transaction."""
        return min(self._ongoing, default=None)

    @property
    def snapshot_offsets(self) -> list[int]:
        """Return the offsets of the snapshots on disk, ascending."""
        return [*self._snapshots]

    def has_ongoing_transaction(self, producer_id: int) -> bool:
        """Return whether a producer has an open transaction here."""
        entry = self.producers.get(producer_id)
        return entry is not None and entry.transaction_first_offset is not None

    def prepare(self, producer_id: int, origin: AppendOrigin) -> ProducerAppendInfo:
        """Return what an append would change; nothing is changed before `update`."""
        entry = self.producers.get(producer_id) or ProducerStateEntry(producer_id)
        return ProducerAppendInfo(entry, origin)

    def update(self, info: ProducerAppendInfo) -> None:
        """Take over what an append changed."""
        updated = info.updated
        entry = self.producers.setdefault(
            updated.producer_id, ProducerStateEntry(updated.producer_id)
        )
        entry.update_epoch(updated.epoch)
        for batch in updated.batches:
            entry.add_batch(updated.epoch, batch)
        entry.coordinator_epoch = updated.coordinator_epoch
        entry.transaction_first_offset = updated.transaction_first_offset
        entry.last_timestamp = updated.last_timestamp
        if info.started_offset is not None:
            self._ongoing[info.started_offset] = updated.producer_id

    def last_stable_offset_after(self, completed: CompletedTransaction) -> int:
        """Return the last stable offset as it is once a transaction has ended.

        Source: `ProducerStateManager.lastStableOffset`, which goes by the producer.
        """
        others = (
            first
            for first, producer_id in self._ongoing.items()
            if producer_id != completed.producer_id
        )
        return min(others, default=completed.last_offset + 1)

    def complete(self, completed: CompletedTransaction) -> None:
        """End a transaction; it stays unstable until its marker is replicated."""
        self._ongoing.pop(completed.first_offset, None)
        self._unreplicated[completed.first_offset] = completed.last_offset

    def handle_high_watermark(self, high_watermark: int) -> None:
        """Forget the ended transactions whose marker is replicated."""
        if self._unreplicated:
            self._unreplicated = {
                first: last for first, last in self._unreplicated.items() if last >= high_watermark
            }

    def handle_log_start(self, log_start_offset: int) -> None:
        """Forget the ended transactions before the start of the log."""
        self.handle_high_watermark(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)
        self._last_snapshot_offset = self._snapshots[-1] if self._snapshots else log_start_offset

    def remove_expired(self, now_ms: int) -> None:
        """Forget the producers that wrote nothing for long and have no open transaction."""
        expired = [
            producer_id
            for producer_id, entry in self.producers.items()
            if self._is_expired(entry, now_ms)
        ]
        for producer_id in expired:
            del self.producers[producer_id]

    def truncate_and_reload(self, log_start_offset: int, log_end_offset: int, now_ms: int) -> None:
        """Go back to the last snapshot of a log that now has these bounds.

        Whoever calls reads the batches from `map_end_offset` on.

        Raises:
            LogFileError: if a snapshot cannot be deleted.
        """
        for offset in self.snapshot_offsets:
            if not log_start_offset < offset <= log_end_offset:
                self.delete_snapshot(offset)
        if log_end_offset == self.map_end_offset:
            self.handle_log_start(log_start_offset)
            return
        self._clear()
        self._load_last_snapshot(log_start_offset, now_ms)

    def truncate_fully(self, offset: int) -> None:
        """Forget everything; the log begins anew at an offset.

        Raises:
            LogFileError: if a snapshot cannot be deleted.
        """
        self._clear()
        for each in self.snapshot_offsets:
            self.delete_snapshot(each)
        self._last_snapshot_offset = 0
        self.map_end_offset = offset

    def write_snapshot(self) -> None:
        """Write a snapshot, if something came since the last.

        Raises:
            LogFileError: if the disk is full or broken.
        """
        offset = self.map_end_offset
        if offset <= self._last_snapshot_offset:
            return
        write_snapshot(numbered_path(self._folder, offset, SNAPSHOT), self.producers.values())
        if offset not in self._snapshots:
            insort(self._snapshots, offset)
        self._last_snapshot_offset = offset

    def delete_snapshot(self, offset: int) -> None:
        """Delete a snapshot, if there is one.

        Raises:
            LogFileError: if it cannot be deleted.
        """
        if offset in self._snapshots:
            self._snapshots.remove(offset)
            path = numbered_path(self._folder, offset, SNAPSHOT)
            with disk_faults(path):
                path.unlink(missing_ok=True)

    def remove_stray_snapshots(self, base_offsets: set[int]) -> None:
        """Delete the snapshots that belong to no segment, but for the last of them.

        That one may be of a clean shutdown: it is kept if it is not before the last segment.

        Raises:
            LogFileError: if one cannot be deleted.
        """
        strays = [offset for offset in self.snapshot_offsets if offset not in base_offsets]
        if strays and base_offsets and strays[-1] >= max(base_offsets):
            strays.pop()
        for offset in strays:
            self.delete_snapshot(offset)

    def _listed_snapshots(self) -> list[int]:
        with disk_faults(self._folder):
            names = [parse_numbered(path.name) for path in self._folder.iterdir()]
        return sorted(name.base_offset for name in names if name and name[1:] == (SNAPSHOT, ""))

    def _load_last_snapshot(self, log_start_offset: int, now_ms: int) -> None:
        while self._snapshots:
            offset = self._snapshots[-1]
            try:
                entries = read_snapshot(numbered_path(self._folder, offset, SNAPSHOT))
            except LogFileError:
                self.delete_snapshot(offset)  # the one before it, or the batches, say the same
                continue
            for entry in entries:
                if not self._is_expired(entry, now_ms):
                    self.producers[entry.producer_id] = entry
                    if entry.transaction_first_offset is not None:
                        self._ongoing[entry.transaction_first_offset] = entry.producer_id
            self._last_snapshot_offset = self.map_end_offset = offset
            return
        self._last_snapshot_offset = self.map_end_offset = log_start_offset

    def _is_expired(self, entry: ProducerStateEntry, now_ms: int) -> bool:
        return (
            entry.transaction_first_offset is None
            and now_ms - entry.last_timestamp >= self._expiration_ms
        )

    def _clear(self) -> None:
        self.producers.clear()
        self._ongoing.clear()
        self._unreplicated.clear()
