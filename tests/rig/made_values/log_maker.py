"""Logs of partitions, and the batches that producers and coordinators append to them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kdiag.clock import NS_PER_MS, ManualClock
from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.loader import LogOrigin
from kdiag.lab.log.partition_log import FetchIsolation, LogAppendInfo, PartitionLog
from kdiag.lab.log.producers.append_info import AppendOrigin
from kdiag.lab.log.producers.marker import TransactionMarker, write_marker
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, ControlType, Record
from kdiag.wire.records.writer import write_batch

NOW_MS: Final = 1_700_000_000_000
PLAIN: Final = BatchHeader()


def clock_at(ms: int = NOW_MS) -> ManualClock:
    """Return a clock that stands at a time."""
    return ManualClock(ms * NS_PER_MS)


def produced(
    *values: bytes | None,
    header: BatchHeader = PLAIN,
    key: bytes | None = b"key",
    timestamp: int = NOW_MS,
) -> bytes:
    """Return a batch as a producer sends it: offsets from 0, one millisecond apart."""
    records = [Record(at, timestamp + at, key, value) for at, value in enumerate(values)]
    return write_batch(records, header)


def written_by(
    producer_id: int, sequence: int, *, epoch: int = 0, in_transaction: bool = False
) -> BatchHeader:
    """Return the header of an idempotent producer's batch."""
    return BatchHeader(
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=in_transaction,
    )


def replicated(first_offset: int, *values: bytes, epoch: int = 0) -> bytes:
    """Return a batch as a leader sends it to a follower."""
    records = [Record(first_offset + at, NOW_MS, None, value) for at, value in enumerate(values)]
    return write_batch(records, BatchHeader(partition_leader_epoch=epoch))


def open_log(
    folder: Path,
    config: LogConfig | None = None,
    *,
    clock: ManualClock | None = None,
    origin: LogOrigin | None = None,
) -> PartitionLog:
    """Open the log of a partition."""
    return PartitionLog.open(folder, config or LogConfig(), clock or clock_at(), origin)


def end_transaction(
    log: PartitionLog, producer_id: int, control_type: ControlType, *, epoch: int = 0
) -> LogAppendInfo:
    """Append the marker that ends a producer's transaction."""
    marker = TransactionMarker(control_type, 0, NOW_MS)
    data = write_marker(marker, producer_id, epoch)
    return log.append_as_leader(data, 0, AppendOrigin.COORDINATOR)


def fill(log: PartitionLog, count: int, *, size: int = 100, timestamp: int = NOW_MS) -> None:
    """Append batches of one record, one millisecond apart, and replicate them."""
    for at in range(count):
        log.append_as_leader(produced(b"v" * size, timestamp=timestamp + at), leader_epoch=0)
    log.update_high_watermark(log.log_end_offset)


def records_of(log: PartitionLog, offset: int | None = None) -> list[Record]:
    """Return the records of a log, read as a follower reads them."""
    records: list[Record] = []
    at = log.log_start_offset if offset is None else offset
    while at < log.log_end_offset:
        read = log.read(at, 1 << 16, FetchIsolation.LOG_END)
        if read.slice is None:
            break
        batches = read_batches(read.slice.read()).batches
        records += [record for batch in batches for record in batch.records()]
        at = batches[-1].last_offset + 1
    return records


def offsets_of(log: PartitionLog) -> list[int]:
    """Return the offsets of a log."""
    return [record.offset for record in records_of(log)]


def values_of(log: PartitionLog) -> Sequence[bytes | None]:
    """Return the values of a log."""
    return [record.value for record in records_of(log)]
