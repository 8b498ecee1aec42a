"""The leader epochs of a partition, and the offset at which each began.

    epoch 0 from offset 0, epoch 3 from offset 120, epoch 4 from 125; the log ends at 130

    end_offset_for(3, 130)    # (3, 125): the records of epoch 3 end there
    end_offset_for(2, 130)    # (0, 120): epoch 2 wrote nothing here; 0 was the last before it
    end_offset_for(4, 130)    # (4, 130): the current epoch ends with the log
    end_offset_for(5, 130)    # None: unknown

A follower compares its own epochs with the leader's to find the offset up to which both logs are
equal, and truncates to it (KIP-101, KIP-279, KIP-320).

Source: Kafka's `LeaderEpochFileCache`.
"""

from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import Final

from kdiag.lab.log.files.checkpoint import EpochEntry, read_epochs, write_epochs

FILE_NAME: Final = "leader-epoch-checkpoint"


class LeaderEpochs:
    """The leader epochs of a partition; every change is in its file when a method returns.

    Attributes:
        entries: ascending in epoch and start offset.
    """

    def __init__(self, path: Path) -> None:
        """Read the epochs from their checkpoint.

        Raises:
            LogFileError: if the file is something else.
        """
        self._path = path
        self.entries: list[EpochEntry] = []
        for entry in read_epochs(path):
            self._assign(entry)

    @property
    def latest(self) -> EpochEntry | None:
        """Return the last entry, if there is one."""
        return self.entries[-1] if self.entries else None

    @property
    def earliest(self) -> EpochEntry | None:
        """Return the first entry, if there is one."""
        return self.entries[0] if self.entries else None

    def assign(self, epoch: int, start_offset: int) -> None:
        """Begin an epoch, unless it is the current one; it replaces what contradicts it.

        Raises:
            ValueError: if a number is negative.
            LogFileError: if the file cannot be written.
        """
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"epoch {epoch} from offset {start_offset}")
        if self._assign(EpochEntry(epoch, start_offset)):
            self._write()

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEntry | None:
        """Return the largest epoch here that is not above a given one, and where it ends.

        Its `start_offset` is the first offset after it. None stands for Kafka's (-1, -1).
        """
        if epoch < 0:
            return None
        after = bisect_right(self.entries, epoch, key=lambda entry: entry.epoch)
        if after == len(self.entries):
            latest = self.latest
            if latest is None or latest.epoch != epoch:
                return None
            return EpochEntry(epoch, log_end_offset)
        found = self.entries[after - 1].epoch if after else epoch
        return EpochEntry(found, self.entries[after].start_offset)

    def epoch_for(self, offset: int) -> int | None:
        """Return the epoch in which an offset was written; None before the first."""
        after = bisect_right(self.entries, offset, key=lambda entry: entry.start_offset)
        return self.entries[after - 1].epoch if after else None

    def truncate_from_end(self, end_offset: int) -> None:
        """Remove the epochs that begin at an offset or after it.

        Raises:
            LogFileError: if the file cannot be written.
        """
        kept = bisect_left(self.entries, end_offset, key=lambda entry: entry.start_offset)
        if kept < len(self.entries):
            del self.entries[kept:]
            self._write()

    def truncate_from_start(self, start_offset: int) -> None:
        """Let the log begin at an offset: the epoch that was current there begins there.

        Raises:
            LogFileError: if the file cannot be written.
        """
        after = bisect_right(self.entries, start_offset, key=lambda entry: entry.start_offset)
        if after > 1 or (after and self.entries[0].start_offset < start_offset):
            self.entries[:after] = [EpochEntry(self.entries[after - 1].epoch, start_offset)]
            self._write()

    def clear(self) -> None:
        """Forget all epochs.

        Raises:
            LogFileError: if the file cannot be written.
        """
        if self.entries:
            self.entries.clear()
            self._write()

    def _assign(self, entry: EpochEntry) -> bool:
        latest = self.latest
        if latest and latest.epoch == entry.epoch and latest.start_offset <= entry.start_offset:
            return False
        while self.entries and (
            self.entries[-1].epoch >= entry.epoch
            or self.entries[-1].start_offset >= entry.start_offset
        ):
            self.entries.pop()
        self.entries.append(entry)
        return True

    def _write(self) -> None:
        write_epochs(self._path, self.entries)
