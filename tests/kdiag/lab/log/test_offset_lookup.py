"""Test intents of Kafka's UnifiedLogTest and LogOffsetTest: offsets by time."""

import struct
from pathlib import Path

import pytest

from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.offset_lookup import OffsetPlace, TimestampAndOffset, find_offset
from kdiag.lab.log.partition_log import PartitionLog
from kdiag.lab.log.refusal import LogFileError
from kdiag.wire.records.compression import crc32c
from kdiag.wire.records.record import BatchHeader, Record, TimestampType
from kdiag.wire.records.writer import write_batch
from made_values.log_maker import NOW_MS, fill, open_log, produced

SMALL = LogConfig(segment_bytes=500, index_interval_bytes=100)


def filled(folder: Path, count: int = 20) -> PartitionLog:
    """Return a log of batches of one record, one millisecond apart, over segments."""
    log = open_log(folder, SMALL)
    fill(log, count)
    return log


def test_the_first_record_that_is_not_older_is_found(tmp_path: Path) -> None:
    """With its epoch, in whatever segment."""
    log = filled(tmp_path)
    for at in range(20):
        assert find_offset(log, NOW_MS + at) == TimestampAndOffset(NOW_MS + at, at, 0), at


def test_outside_the_times_of_the_log_the_ends_count(tmp_path: Path) -> None:
    """Before all records the first is found, after all of them none."""
    log = filled(tmp_path)
    assert find_offset(log, 0) == (NOW_MS, 0, 0)
    assert find_offset(log, NOW_MS + 20) is None
    assert find_offset(open_log(tmp_path / "empty-0"), 0) is None


def test_records_before_the_start_do_not_count(tmp_path: Path) -> None:
    """Nor those of the same batch."""
    log = open_log(tmp_path)
    log.append_as_leader(produced(b"a", b"b", b"c"), 0)
    log.update_high_watermark(3)
    log.increment_log_start(1)
    assert find_offset(log, NOW_MS) == (NOW_MS + 1, 1, 0)


def test_timestamps_need_not_ascend(tmp_path: Path) -> None:
    """The first offset counts, not the least timestamp."""
    log = open_log(tmp_path, LogConfig(index_interval_bytes=1))
    for timestamp in (50, 10, 40, 60, 20):
        log.append_as_leader(produced(b"v" * 50, timestamp=timestamp), 0)
    found = [find_offset(log, timestamp) for timestamp in (5, 45, 50, 55, 60)]
    assert [each and each.offset for each in found] == [0, 0, 0, 3, 3]


def test_places_have_no_timestamp(tmp_path: Path) -> None:
    """The start with the epoch that is current there, the end with the last one."""
    log = open_log(tmp_path)
    assert find_offset(log, OffsetPlace.EARLIEST) == (-1, 0, -1)
    assert find_offset(log, OffsetPlace.LATEST) == (-1, 0, -1)
    for epoch in (3, 4):
        log.append_as_leader(produced(b"a"), epoch)
    assert find_offset(log, OffsetPlace.EARLIEST) == (-1, 0, 3)
    assert find_offset(log, OffsetPlace.EARLIEST_LOCAL) == (-1, 0, 3)
    assert find_offset(log, OffsetPlace.LATEST) == (-1, 2, 4)
    assert find_offset(log, OffsetPlace.LATEST_TIERED) == (-1, -1, -1)


def test_the_largest_timestamp_is_found_wherever_it_is(tmp_path: Path) -> None:
    """In an old segment, and inside a batch; the first one that has it."""
    log = open_log(tmp_path, SMALL)
    assert find_offset(log, OffsetPlace.MAX) is None
    records = [Record(at, timestamp) for at, timestamp in enumerate((10, 99, 99, 5))]
    log.append_as_leader(write_batch(records), 0)
    for timestamp in range(20, 40):
        log.append_as_leader(produced(b"v" * 100, timestamp=timestamp), 0)
    assert len(log.segments) > 2
    assert find_offset(log, OffsetPlace.MAX) == (99, 1, 0)


def test_a_stamped_batch_has_one_time_for_all(tmp_path: Path) -> None:
    """Its first record is found."""
    log = open_log(tmp_path, LogConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME))
    log.append_as_leader(produced(b"a", b"b", timestamp=5), 0)
    assert find_offset(log, OffsetPlace.MAX) == find_offset(log, 6) == (NOW_MS, 0, 0)


def test_messages_without_timestamps_are_found_by_none(tmp_path: Path) -> None:
    """Magic 0: neither by a time nor as the newest."""
    log = open_log(tmp_path)
    log.append_as_leader(produced(b"a", header=BatchHeader(magic=0)), 0)
    assert find_offset(log, 1) is None
    assert find_offset(log, OffsetPlace.MAX) is None


def test_a_damaged_batch_is_said_with_its_place(tmp_path: Path) -> None:
    """It was right when it was appended."""
    log = filled(tmp_path, 1)
    path = tmp_path / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[61:64] = b"\xff\xff\xff"
    struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    path.write_bytes(data)
    with pytest.raises(LogFileError, match="byte 0: records"):
        find_offset(log, NOW_MS)
