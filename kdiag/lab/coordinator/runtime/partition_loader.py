"""The loading of a partition: its records, from the first to the last, into the shard of it.

    loader = PartitionLoader(log, shard)
    while not loader.load_some():       # a megabyte each; other requests are answered in between
        ...

Records of open transactions are given with their producer, and the shard keeps them apart until the
marker comes. A record of a type that is not known is passed over, as a newer broker may have
written it.

Source: Kafka's `CoordinatorLoaderImpl`, `CoordinatorPlayback`.
"""

import logging
from typing import Final, Protocol

from kdiag.lab.coordinator.runtime.coordinator_record import RecordOrigin
from kdiag.lab.log.partition_log import FetchIsolation, PartitionLog
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.internal import InternalRecord, read_internal_record
from kdiag.wire.records.record import ControlType, read_control_type

LOG: Final = logging.getLogger(__name__)

PIECE_BYTES: Final = 1 << 20
"""As much is read at once."""


class CoordinatorShard(Protocol):
    """The state of a coordinator in one partition; its methods write nothing."""

    def replay(self, record: InternalRecord, origin: RecordOrigin) -> None:
        """Apply a record: one that is in the log, whoever wrote it."""
        ...

    def replay_end_transaction(
        self, producer_id: int, producer_epoch: int, *, is_commit: bool
    ) -> None:
        """Apply the end of a transaction."""
        ...

    def handle_loaded(self) -> None:
        """Begin to coordinate: every record was replayed."""
        ...

    def handle_unloaded(self) -> None:
        """Stop: another node coordinates, or the topic is gone."""
        ...


class PartitionLoader:
    """Reads a partition into a shard.

    Attributes:
        offset: everything before it was read.
    """

    def __init__(self, topic: str, log: PartitionLog, shard: CoordinatorShard) -> None:
        """Begin at the start of the log."""
        self.offset = log.log_start_offset
        self._topic = topic
        self._log = log
        self._shard = shard

    def __repr__(self) -> str:
        return f"<PartitionLoader of {self._log!r}: at {self.offset}>"

    def load_some(self) -> bool:
        """Read a piece; return whether that was the last.

        Raises:
            LogFileError, LogRefusedError, DecodeError: if the log cannot be read.
        """
        self.offset = max(self.offset, self._log.log_start_offset)
        if self.offset < self._log.log_end_offset:
            read = self._log.read(self.offset, PIECE_BYTES, FetchIsolation.LOG_END)
            if read.slice is None:
                self.offset = self._log.log_end_offset
            else:
                for batch in read_batches(read.slice.read()).batches:
                    self._replay(batch)
                    self.offset = batch.last_offset + 1
        return self.offset >= self._log.log_end_offset

    def _replay(self, batch: RecordBatch) -> None:
        is_transactional = batch.is_transactional
        for record in batch.records():
            if batch.is_control:
                control = read_control_type(record.key)
                if control in {ControlType.ABORT, ControlType.COMMIT}:
                    self._shard.replay_end_transaction(
                        batch.producer_id,
                        batch.producer_epoch,
                        is_commit=control is ControlType.COMMIT,
                    )
                continue
            read = read_internal_record(self._topic, record)
            if read is None:
                LOG.warning("%r: the record at %d is not known", self._log, record.offset)
            elif is_transactional:
                origin = RecordOrigin(record.offset, batch.producer_id, batch.producer_epoch)
                self._shard.replay(read, origin)
            else:
                self._shard.replay(read, RecordOrigin(record.offset))
