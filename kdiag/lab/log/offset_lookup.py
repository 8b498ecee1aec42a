"""Offsets by time, for ListOffsets: the first record that is not older than a given time.

The largest timestamps of segments tell which one to look into, its time index where to begin, and
then batches and records are read until one is late enough. Timestamps that are negative stand for
places:

    -1 LATEST    the end                     -2 EARLIEST   the start
    -3 MAX       the record with the largest timestamp (KIP-734)
    -4 EARLIEST_LOCAL and -5 LATEST_TIERED   this log has no tiers (KIP-405): its start, and none

How far the client may see is for the partition to decide: it has to compare what is found with the
high watermark, or with the last stable offset.

Source: Kafka's `UnifiedLog.fetchOffsetByTimestamp`, `LogSegment.findOffsetByTimestamp`.
"""

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from kdiag.errors import DecodeError
from kdiag.lab.log.partition_log import PartitionLog
from kdiag.lab.log.refusal import LogFileError
from kdiag.lab.log.segment import LogSegment
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.record import NO_TIMESTAMP, Record


class OffsetPlace(IntEnum):
    """The timestamps of a ListOffsets request that stand for a place."""

    LATEST = -1
    EARLIEST = -2
    MAX = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5


class TimestampAndOffset(NamedTuple):
    """An offset that was found, as a ListOffsets response has it.

    Attributes:
        timestamp: of the record; -1 for a place.
        offset: of the record; -1 for a place that does not exist.
        leader_epoch: in which it was written; -1 if that is not known.
    """

    timestamp: int
    offset: int
    leader_epoch: int


def find_offset(log: PartitionLog, timestamp: int) -> TimestampAndOffset | None:
    """Return the first record that is not older than a timestamp, or a place.

    Args:
        log: where to look.
        timestamp: in milliseconds since 1970, or an `OffsetPlace`.

    Raises:
        LogFileError: if the log is damaged there.
    """
    if timestamp in {OffsetPlace.EARLIEST, OffsetPlace.EARLIEST_LOCAL}:
        earliest = log.epochs.earliest
        is_known = earliest is not None and earliest.start_offset <= log.log_start_offset
        epoch = earliest.epoch if earliest is not None and is_known else NO_TIMESTAMP
        return TimestampAndOffset(NO_TIMESTAMP, log.log_start_offset, epoch)
    if timestamp == OffsetPlace.LATEST:
        latest = log.epochs.latest
        epoch = -1 if latest is None else latest.epoch
        return TimestampAndOffset(NO_TIMESTAMP, log.log_end_offset, epoch)
    if timestamp == OffsetPlace.LATEST_TIERED:
        return TimestampAndOffset(NO_TIMESTAMP, -1, -1)
    if timestamp == OffsetPlace.MAX:
        return _find_newest(log)
    for segment in log.segments:
        if segment.largest_timestamp >= timestamp:
            return _find_in(segment, timestamp, log.log_start_offset)
    return None


def _find_in(segment: LogSegment, timestamp: int, start_offset: int) -> TimestampAndOffset | None:
    """Return the first record of a segment that is late enough, from an offset on."""
    entry = segment.time_index.lookup(timestamp)
    for batch, record in _records(segment, max(entry.offset, start_offset), timestamp):
        if record.timestamp >= timestamp and record.offset >= start_offset:
            return TimestampAndOffset(record.timestamp, record.offset, batch.partition_leader_epoch)
    return None


def _find_newest(log: PartitionLog) -> TimestampAndOffset | None:
    """Return the first record that has the largest timestamp of the log."""
    newest = max(log.segments, key=lambda segment: segment.largest_timestamp_offset.timestamp)
    timestamp, offset = newest.largest_timestamp_offset
    if timestamp < 0:
        return None
    for batch, record in _records(newest, offset, timestamp):
        if record.timestamp == timestamp:
            return TimestampAndOffset(timestamp, record.offset, batch.partition_leader_epoch)
    return None


def _records(
    segment: LogSegment, offset: int, timestamp: int
) -> Iterator[tuple[RecordBatch, Record]]:
    """Yield the records of batches that are late enough, from the batch of an offset on."""
    first = segment.locate(offset)
    if first is None:
        return
    for head in segment.log.heads(first.position):
        if head.max_timestamp >= timestamp:
            batch = segment.log.batch_at(head)
            try:
                records = batch.records()
            except DecodeError as error:
                raise LogFileError(segment.log.path, str(error), head.position) from None
            for record in records:
                yield batch, record
