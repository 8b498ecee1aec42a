from pathlib import Path

import pytest

from kdiag.clock import ManualClock
from kdiag.lab.coordinator.runtime import partition_loader
from kdiag.lab.coordinator.runtime.coordinator_record import RecordOrigin, write_records
from kdiag.lab.coordinator.runtime.partition_loader import PartitionLoader
from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.partition_log import PartitionLog
from kdiag.lab.log.producers.append_info import AppendOrigin
from kdiag.wire.records.record import BatchHeader, ControlType, Record, write_control_key
from kdiag.wire.records.writer import write_batch
from lab_ends.noted_records import NotedRecords, committed

COORDINATOR = AppendOrigin.COORDINATOR


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    """Return an empty log."""
    return PartitionLog.open(tmp_path / "__consumer_offsets-0", LogConfig(), ManualClock())


def loaded(log: PartitionLog) -> tuple[NotedRecords, int]:
    """Return the shard of a log, and how many pieces it was read in."""
    shard = NotedRecords(0)
    loader = PartitionLoader("__consumer_offsets", log, shard)
    pieces = 1
    while not loader.load_some():
        pieces += 1
    assert loader.offset == log.log_end_offset
    return shard, pieces


def test_records_are_replayed_in_order_piece_by_piece(
    log: PartitionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with its offset; an empty log has none."""
    shard, pieces = loaded(log)
    assert (shard.offsets, pieces) == ([], 1)
    for offset in range(6):
        log.append_as_leader(write_records([committed(offset)] * 2, 0), 0, COORDINATOR)
    monkeypatch.setattr(partition_loader, "PIECE_BYTES", 1)
    shard, pieces = loaded(log)
    assert shard.offsets == [(each // 2, RecordOrigin(each)) for each in range(12)]
    assert pieces == 6


def test_transactions_are_told_apart(log: PartitionLog) -> None:
    """Their records have the producer, and their markers end them."""
    log.append_as_leader(write_records([committed(5)], 0, 17, 3), 0, COORDINATOR)
    header = BatchHeader(
        producer_id=17, producer_epoch=3, is_transactional=True, is_control=True, base_sequence=-1
    )
    for control in (ControlType.COMMIT, ControlType.ABORT):
        marker = Record(0, 0, write_control_key(control), bytes(6))
        log.append_as_leader(write_batch([marker], header), 0, COORDINATOR)
    shard, _ = loaded(log)
    assert shard.offsets == [(5, RecordOrigin(0, 17, 3))]
    assert shard.ends == [(17, 3, True), (17, 3, False)]


def test_a_record_that_is_not_known_is_passed_over(
    log: PartitionLog, caplog: pytest.LogCaptureFixture
) -> None:
    """With one line that says so."""
    stranger = Record(0, 0, (999).to_bytes(2), b"value")
    log.append_as_leader(write_batch([stranger]), 0, COORDINATOR)
    log.append_as_leader(write_records([committed(5)], 0), 0, COORDINATOR)
    shard, _ = loaded(log)
    assert shard.offsets == [(5, RecordOrigin(1))]
    (line,) = caplog.messages
    assert "the record at 0 is not known" in line
