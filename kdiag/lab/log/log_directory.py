"""A broker's folder of logs: one folder for each partition, and what is known of all of them.

    data/orders-0/                          a partition
    data/recovery-point-offset-checkpoint   up to where each log was flushed
    data/replication-offset-checkpoint      the high watermarks
    data/log-start-offset-checkpoint        starts that are inside a segment
    data/cleaner-offset-checkpoint          up to where logs are compacted
    data/.kafka_cleanshutdown               there only while nothing runs and all was closed
    data/.lock                              held by the process that has it open

Opening trusts what was closed and reads again what was not. A partition that is deleted changes its
name first, so that a crash leaves either all of it or a folder that the next start removes.

Source: Kafka's `LogManager`, `CleanShutdownFileHandler`.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from kdiag.clock import Clock
from kdiag.exchange.secrets.new_file import PRIVATE_FILE, make_private_folder
from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.files import checkpoint
from kdiag.lab.log.files.checkpoint import TopicPartition
from kdiag.lab.log.files.names import parse_partition_folder, partition_folder
from kdiag.lab.log.loader import LogOrigin
from kdiag.lab.log.partition_log import PartitionLog
from kdiag.lab.log.refusal import LogFileError, disk_faults

RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"
CLEANED: Final = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
LOCK: Final = ".lock"

_CLEAN_TEXT: Final = '{"version":0,"brokerEpoch":-1}'
_DELETED_SUFFIX: Final = "-delete"


class LogDirectory:
    """The logs of a broker; a context manager that closes them.

    Attributes:
        folder: of all of them.
        logs: by topic and partition.
        cleaned_offsets: up to where each compacted log is clean.
        was_closed: whether the process before closed it.
        faults: the logs that could not be opened, with the reason: their partitions are offline.
    """

    def __init__(
        self, folder: Path, clock: Clock, config_of: Callable[[str], LogConfig] | None = None
    ) -> None:
        """Open a folder, and every log in it.

        Args:
            folder: made if it is not there.
            clock: for the logs.
            config_of: returns the settings of a topic; the defaults without it.

        Raises:
            LogFileError: if another process has it open, or a checkpoint is damaged.
        """
        self.folder = folder
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self.faults: dict[TopicPartition, LogFileError] = {}
        self._clock = clock
        self._lock = _locked(folder)
        try:
            self.was_closed = self._take_clean_shutdown()
            self.cleaned_offsets = checkpoint.read_offsets(folder / CLEANED)
            self._open_logs(config_of or _default_config)
        except BaseException:
            os.close(self._lock)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close everything."""
        self.close()

    def __repr__(self) -> str:
        return f"<LogDirectory {self.folder}: {len(self.logs)} logs>"

    def create(
        self, topic: str, partition: int, config: LogConfig, topic_id: bytes | None = None
    ) -> PartitionLog:
        """Return the log of a partition, made if it is not there.

        Raises:
            LogFileError: if the disk is full or broken, or the folder is that of another topic.
        """
        key = topic, partition
        log = self.logs.get(key)
        if log is None:
            if key in self.faults:
                raise self.faults[key]
            path = self.folder / partition_folder(topic, partition)
            log = PartitionLog.open(path, config, self._clock)
            self.logs[key] = log
        if topic_id is not None:
            log.assign_topic_id(topic_id)
        return log

    def delete(self, topic: str, partition: int) -> None:
        """Delete the log of a partition; slices of it stay readable.

        Raises:
            LogFileError: if that fails.
        """
        key = topic, partition
        self.logs.pop(key, None)
        self.faults.pop(key, None)
        self.cleaned_offsets.pop(key, None)
        path = self.folder / partition_folder(topic, partition)
        doomed = path.with_name(f"{path.name}.{os.urandom(16).hex()}{_DELETED_SUFFIX}")
        with disk_faults(path):
            if path.exists():
                path.rename(doomed)
                shutil.rmtree(doomed)

    def write_checkpoints(self) -> None:
        """Write down what a crash must not lose; Kafka does so every few seconds.

        Raises:
            LogFileError: if the disk is full or broken.
        """
        starts = {
            key: log.log_start_offset
            for key, log in self.logs.items()
            if log.log_start_offset > log.segments.first.base_offset
        }
        points = {key: log.recovery_point for key, log in self.logs.items()}
        watermarks = {key: log.high_watermark for key, log in self.logs.items()}
        for name, offsets in (
            (RECOVERY_POINTS, points),
            (LOG_STARTS, starts),
            (HIGH_WATERMARKS, watermarks),
            (CLEANED, self.cleaned_offsets),
        ):
            checkpoint.write_offsets(self.folder / name, offsets)

    def close(self) -> None:
        """Flush and close every log, and say that all was closed.

        Raises:
            LogFileError: if the disk is full or broken: the next start reads the logs again.
        """
        if self._lock < 0:
            return
        try:
            for log in self.logs.values():
                log.close()
            self.write_checkpoints()
            if not self.faults:
                checkpoint.write_whole(self.folder / CLEAN_SHUTDOWN, _CLEAN_TEXT.encode())
        finally:
            os.close(self._lock)
            self._lock = -1

    def abandon(self) -> None:
        """Let go of the folder as a process that is killed: nothing is written.

        The files are closed when nobody reads them any more.
        """
        if self._lock >= 0:
            self.logs.clear()
            os.close(self._lock)
            self._lock = -1

    def _take_clean_shutdown(self) -> bool:
        """Return whether the process before closed all, and say that this one has not."""
        path = self.folder / CLEAN_SHUTDOWN
        with disk_faults(path):
            was_closed = path.exists()
            path.unlink(missing_ok=True)
        return was_closed

    def _open_logs(self, config_of: Callable[[str], LogConfig]) -> None:
        points = checkpoint.read_offsets(self.folder / RECOVERY_POINTS)
        starts = checkpoint.read_offsets(self.folder / LOG_STARTS)
        watermarks = checkpoint.read_offsets(self.folder / HIGH_WATERMARKS)
        for path, key in self._partitions():
            origin = LogOrigin(points.get(key, 0), starts.get(key, 0), was_closed=self.was_closed)
            try:
                log = PartitionLog.open(path, config_of(key[0]), self._clock, origin)
            except LogFileError as error:
                self.faults[key] = error
                continue
            log.update_high_watermark(watermarks.get(key, 0))
            self.logs[key] = log

    def _partitions(self) -> Iterator[tuple[Path, TopicPartition]]:
        """Yield the folders of partitions; those that were to be deleted are."""
        with disk_faults(self.folder):
            for path in sorted(self.folder.iterdir()):
                if not path.is_dir():
                    continue
                key = parse_partition_folder(path.name)
                if key is not None:
                    yield path, key
                elif path.name.endswith(_DELETED_SUFFIX):
                    shutil.rmtree(path)


def _default_config(_: str) -> LogConfig:
    return LogConfig()


def _locked(folder: Path) -> int:
    """Return the descriptor of a lock that this process holds on a folder.

    Raises:
        LogFileError: if another process holds it.
    """
    path = folder / LOCK
    with disk_faults(path):
        make_private_folder(folder)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        why = "another process has these logs open; stop it, or use another folder"
        raise LogFileError(folder, why) from None
    return descriptor
