"""Retention: which segments of a log are deleted, by its start, its size and its age.

    start   every record is before the log start (DeleteRecords, or a follower's leader)
    size    the rest is still as large as `retention.bytes`
    time    its newest record is older than `retention.ms`

Segments go from the oldest on, as long as one may go and everything in it is replicated; a policy
without `delete` goes by the start alone. If all may go, an empty segment begins at the end first:
the log keeps its offsets.

Source: Kafka's `UnifiedLog.deleteOldSegments`.
"""

from collections.abc import Callable

from kdiag.lab.log.partition_log import PartitionLog
from kdiag.lab.log.segment import LogSegment


def delete_old_segments(log: PartitionLog) -> int:
    """Delete the segments that need not be kept, and return how many.

    Raises:
        LogFileError: if the disk is full or broken.
    """
    deleted = _delete_while(log, _is_before_start(log))
    if log.config.is_deleted:
        if log.config.retention_bytes >= 0:
            deleted += _delete_while(log, _is_beyond_size(log))
        if log.config.retention_ms >= 0:
            deleted += _delete_while(log, _is_too_old(log))
    return deleted


def _is_before_start(log: PartitionLog) -> Callable[[LogSegment], bool]:
    def is_deletable(segment: LogSegment) -> bool:
        following = log.segments.after(segment)
        return following is not None and following.base_offset <= log.log_start_offset

    return is_deletable


def _is_beyond_size(log: PartitionLog) -> Callable[[LogSegment], bool]:
    excess = log.size_in_bytes - log.config.retention_bytes

    def is_deletable(segment: LogSegment) -> bool:
        nonlocal excess
        if segment.size > excess:
            return False
        excess -= segment.size
        return True

    return is_deletable


def _is_too_old(log: PartitionLog) -> Callable[[LogSegment], bool]:
    oldest_ms = log.now_ms - log.config.retention_ms
    return lambda segment: segment.largest_timestamp < oldest_ms


def _delete_while(log: PartitionLog, is_deletable: Callable[[LogSegment], bool]) -> int:
    """Delete segments from the oldest on, as long as they are deletable and replicated."""
    deletable = []
    for segment in log.segments:
        following = log.segments.after(segment)
        end = log.log_end_offset if following is None else following.base_offset
        is_last_and_empty = following is None and not segment.size
        if is_last_and_empty or end > log.high_watermark or not is_deletable(segment):
            break
        deletable.append(segment)
    if not deletable:
        return 0
    if len(deletable) == len(log.segments):
        log.roll()
    start = log.segments.after(deletable[-1])
    assert start is not None
    log.increment_log_start(start.base_offset)
    for segment in deletable:
        log.delete_segment(segment)
    return len(deletable)
