"""Test intents of Kafka's UnifiedLogTest: appending, reading, bounds, producers, truncation.

Left out: tiers (KIP-405), KRaft's own log, conversion of formats, verification guards (KIP-890),
preallocation, jitter, renaming of open folders, metrics: the log has none of these.
"""

from pathlib import Path

import pytest

from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.loader import LogOrigin
from kdiag.lab.log.partition_log import FetchIsolation, LogRead, PartitionLog
from kdiag.lab.log.refusal import LogFileError, LogRefusedError
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, ControlType, TimestampType
from made_values.log_maker import (
    NOW_MS,
    end_transaction,
    fill,
    offsets_of,
    open_log,
    produced,
    replicated,
    values_of,
    written_by,
)

SMALL = LogConfig(segment_bytes=500, index_interval_bytes=100)


def read_offsets(read: LogRead) -> list[int]:
    """Return the offsets of the whole batches of a read."""
    if read.slice is None:
        return []
    batches = read_batches(read.slice.read()).batches
    return [record.offset for batch in batches for record in batch.records()]


def test_offsets_go_up_one_by_one(tmp_path: Path) -> None:
    """Over batches and segments."""
    log = open_log(tmp_path, SMALL)
    infos = [log.append_as_leader(produced(b"a", b"b"), leader_epoch=0) for _ in range(20)]
    assert [info.first_offset for info in infos] == [*range(0, 40, 2)]
    assert infos[-1].last_offset == 39
    assert {info.log_append_time for info in infos} == {-1}
    assert offsets_of(log) == [*range(40)]
    assert len(log.segments) > 2
    assert log.segments.base_offsets[1] % 2 == 0


def test_a_topic_with_log_append_time_says_when(tmp_path: Path) -> None:
    """For the response of the producer."""
    log = open_log(tmp_path, LogConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME))
    assert log.append_as_leader(produced(b"a", timestamp=5), 0).log_append_time == NOW_MS


def test_nothing_is_appended_without_a_whole_batch(tmp_path: Path) -> None:
    """There is no offset to answer with."""
    log = open_log(tmp_path)
    assert log.append_as_leader(b"", 0).first_offset == -1
    assert log.append_as_follower(produced(b"a")[:-1]).first_offset == -1
    assert log.log_end_offset == 0


def test_readers_see_up_to_their_bound(tmp_path: Path) -> None:
    """A follower everything, a consumer what is replicated."""
    log = open_log(tmp_path)
    fill(log, 10)
    log.update_high_watermark(7)
    assert read_offsets(log.read(5, 1 << 20, FetchIsolation.HIGH_WATERMARK)) == [5, 6]
    assert read_offsets(log.read(6, 1 << 20, FetchIsolation.HIGH_WATERMARK)) == [6]
    assert log.read(7, 1 << 20, FetchIsolation.HIGH_WATERMARK).slice is None
    assert log.read(9, 1 << 20, FetchIsolation.HIGH_WATERMARK).slice is None
    assert read_offsets(log.read(9, 1 << 20, FetchIsolation.LOG_END)) == [9]
    assert log.read(10, 1 << 20, FetchIsolation.LOG_END).size == 0


@pytest.mark.parametrize("offset", [1, 11])
def test_offsets_outside_the_log_are_out_of_range(tmp_path: Path, offset: int) -> None:
    """Before its start and after its end."""
    log = open_log(tmp_path)
    fill(log, 10)
    log.increment_log_start(2)
    with pytest.raises(LogRefusedError, match="OFFSET_OUT_OF_RANGE"):
        log.read(offset, 100)
    assert log.read(10, 100).start == (10, 0, log.size_in_bytes)


def test_a_read_is_cut_at_its_size(tmp_path: Path) -> None:
    """Unless the first batch is larger and wanted whole."""
    log = open_log(tmp_path)
    fill(log, 3)
    size = log.size_in_bytes // 3
    assert read_offsets(log.read(0, 2 * size + 1)) == [0, 1]
    whole = log.read(1, 1)
    assert (whole.size, whole.is_first_cut, read_offsets(whole)) == (size, False, [1])
    cut = log.read(1, 1, is_one_whole=False)
    assert (cut.size, cut.is_first_cut) == (1, True)
    assert cut.start == (1, 0, size)


def test_the_high_watermark_stays_within_the_log(tmp_path: Path) -> None:
    """Whatever is asked for."""
    log = open_log(tmp_path)
    fill(log, 10)
    log.increment_log_start(3)
    assert log.update_high_watermark(99) == 10
    assert log.update_high_watermark(0) == 3


def test_a_batch_that_is_sent_again_is_answered_with_its_old_offset(tmp_path: Path) -> None:
    """Any of the last five; an older one is out of order."""
    log = open_log(tmp_path)
    batches = [produced(b"a", b"b", header=written_by(7, at)) for at in range(0, 12, 2)]
    for batch in batches:
        assert not log.append_as_leader(batch, 0).is_duplicate
    for at, batch in enumerate(batches[1:], start=1):
        again = log.append_as_leader(batch, 0)
        assert (again.is_duplicate, again.first_offset, again.last_offset) == (
            True,
            at * 2,
            at * 2 + 1,
        )
    with pytest.raises(LogRefusedError, match="OUT_OF_ORDER_SEQUENCE_NUMBER"):
        log.append_as_leader(batches[0], 0)
    assert log.log_end_offset == 12


def test_a_refused_batch_changes_nothing(tmp_path: Path) -> None:
    """The next right one is taken."""
    log = open_log(tmp_path)
    log.append_as_leader(produced(b"a", header=written_by(7, 0)), 0)
    size = log.size_in_bytes
    with pytest.raises(LogRefusedError, match="OUT_OF_ORDER_SEQUENCE_NUMBER"):
        log.append_as_leader(produced(b"c", header=written_by(7, 2)), 0)
    assert (log.log_end_offset, log.size_in_bytes) == (1, size)
    log.append_as_leader(produced(b"b", header=written_by(7, 1)), 0)
    with pytest.raises(LogRefusedError, match="RECORD_LIST_TOO_LARGE"):
        open_log(tmp_path / "b-0", SMALL).append_as_leader(produced(b"v" * 600), 0)


def test_followers_write_what_the_leader_gave(tmp_path: Path) -> None:
    """Gaps are right: the leader's log may be compacted. Steps back are not."""
    log = open_log(tmp_path)
    data = replicated(0, b"a", b"b", epoch=3) + replicated(5, b"c", epoch=4)
    info = log.append_as_follower(data)
    assert (info.first_offset, info.last_offset, info.size_in_bytes) == (0, 5, len(data))
    assert offsets_of(log) == [0, 1, 5]
    assert log.epochs.entries == [(3, 0), (4, 5)]
    for wrong in (replicated(5, b"d"), replicated(7, b"d") + replicated(6, b"e")):
        with pytest.raises(LogRefusedError, match="OFFSET_OUT_OF_RANGE"):
            log.append_as_follower(wrong)
    with pytest.raises(LogRefusedError, match="CORRUPT_MESSAGE"):
        log.append_as_follower(data[:-1] + b"?")


def test_open_transactions_hold_back_readers_of_committed_records(tmp_path: Path) -> None:
    """Until the marker is written and replicated."""
    log = open_log(tmp_path)
    log.append_as_leader(produced(b"a"), 0)
    log.append_as_leader(produced(b"b", header=written_by(7, 0, in_transaction=True)), 0)
    log.append_as_leader(produced(b"c"), 0)
    log.update_high_watermark(3)
    assert log.last_stable_offset == 1
    assert read_offsets(log.read(0, 1 << 20, FetchIsolation.TXN_COMMITTED)) == [0]
    assert log.read(1, 1 << 20, FetchIsolation.TXN_COMMITTED).slice is None
    info = end_transaction(log, 7, ControlType.COMMIT)
    assert info.first_offset == 3
    assert log.last_stable_offset == 1
    log.update_high_watermark(4)
    assert log.last_stable_offset == 4
    assert log.read(0, 1 << 20, FetchIsolation.TXN_COMMITTED).aborted == ()


def test_a_reader_of_committed_records_is_told_of_aborted_transactions(tmp_path: Path) -> None:
    """Of those that overlap what it gets, over segments."""
    log = open_log(tmp_path, SMALL)
    for at in range(6):
        log.append_as_leader(produced(b"x" * 100, header=written_by(7, at, in_transaction=True)), 0)
        log.append_as_leader(produced(b"y" * 100), 0)
        end_transaction(log, 7, ControlType.ABORT if at % 2 else ControlType.COMMIT)
    log.update_high_watermark(log.log_end_offset)
    assert [each.first_offset for each in log.aborted_transactions(0, 100)] == [3, 9, 15]
    assert [each.last_offset for each in log.aborted_transactions(6, 12)] == [11]
    read = log.read(9, 1, FetchIsolation.TXN_COMMITTED)
    assert [(each.producer_id, each.first_offset) for each in read.aborted] == [(7, 9)]
    assert log.read(6, 1, FetchIsolation.TXN_COMMITTED).aborted[:0] == ()


def test_one_append_of_a_follower_may_have_several_producers(tmp_path: Path) -> None:
    """Each goes on from its own sequence when it is led from here."""
    leader = open_log(tmp_path / "leader-0")
    for producer_id, sequence in ((7, 0), (8, 0), (7, 1), (8, 1)):
        leader.append_as_leader(produced(b"v", header=written_by(producer_id, sequence)), 0)
    read = leader.read(0, 1 << 20, FetchIsolation.LOG_END)
    assert read.slice is not None
    log = open_log(tmp_path / "follower-0")
    log.append_as_follower(read.slice.read())
    assert {each: entry.last_sequence for each, entry in log.producers.producers.items()} == {
        7: 1,
        8: 1,
    }
    again = log.append_as_leader(produced(b"v", header=written_by(8, 0)), 1)
    assert (again.is_duplicate, again.first_offset) == (True, 1)


def test_the_last_stable_offset_is_not_before_the_start(tmp_path: Path) -> None:
    """Also if the oldest open transaction began there."""
    log = open_log(tmp_path)
    for sequence in range(3):
        log.append_as_leader(produced(b"v", header=written_by(7, sequence, in_transaction=True)), 0)
    log.update_high_watermark(3)
    log.increment_log_start(2)
    assert log.last_stable_offset == 2


def test_where_the_ends_are_is_told_without_reading(tmp_path: Path) -> None:
    """With their segments and positions, also after a roll."""
    log = open_log(tmp_path, SMALL)
    fill(log, 10)
    log.update_high_watermark(7)
    snapshot = log.offset_snapshot()
    assert snapshot.log_start_offset == 0
    assert snapshot.high_watermark == snapshot.last_stable_offset
    end, active = snapshot.log_end_offset, log.segments.active
    assert end == (10, active.base_offset, active.size)
    read = log.read(7, 1, FetchIsolation.LOG_END)
    assert snapshot.high_watermark == read.start


def test_old_messages_have_no_leader_epoch(tmp_path: Path) -> None:
    """A log that gets one forgets its epochs, for they would be wrong."""
    log = open_log(tmp_path)
    log.append_as_leader(produced(b"a"), leader_epoch=3)
    assert log.end_offset_for_epoch(3) == (3, 1)
    log.append_as_leader(produced(b"a", b"b", header=BatchHeader(magic=1)), leader_epoch=3)
    assert log.end_offset_for_epoch(3) is None
    assert offsets_of(log) == [0, 1, 2]


@pytest.mark.parametrize("offset", range(10))
def test_truncation_goes_back_to_any_offset(tmp_path: Path, offset: int) -> None:
    """Records, epochs, producers and high watermark go back; new records take their place."""
    log = open_log(tmp_path, SMALL)
    for at in range(10):
        data = produced(b"v" * 100, header=written_by(7, at))
        log.append_as_leader(data, leader_epoch=at // 2)
    log.update_high_watermark(8)
    assert log.truncate_to(offset)
    assert offsets_of(log) == [*range(offset)]
    assert log.log_end_offset == offset
    assert log.high_watermark == min(8, offset)
    assert all(entry.start_offset < offset for entry in log.epochs.entries)
    info = log.append_as_leader(produced(b"new", header=written_by(7, offset)), leader_epoch=9)
    assert info.first_offset == offset
    assert values_of(log)[-1] == b"new"


def test_truncation_reopens_a_transaction_whose_marker_is_cut(tmp_path: Path) -> None:
    """And takes it from the index of the aborted ones."""
    log = open_log(tmp_path, SMALL)
    log.append_as_leader(produced(b"a", header=written_by(7, 0, in_transaction=True)), 0)
    end_transaction(log, 7, ControlType.ABORT)
    log.append_as_leader(produced(b"b" * 300), 0)
    log.append_as_leader(produced(b"b" * 300), 0)
    log.update_high_watermark(4)
    assert log.last_stable_offset == 4
    log.truncate_to(1)
    assert log.last_stable_offset == 0
    assert log.aborted_transactions(0, 10) == ()
    end_transaction(log, 7, ControlType.ABORT)
    assert len(log.aborted_transactions(0, 10)) == 1


def test_truncation_to_the_end_or_before_the_start(tmp_path: Path) -> None:
    """Nothing to cut; or a log that begins anew there."""
    log = open_log(tmp_path, SMALL)
    fill(log, 10)
    assert not log.truncate_to(10)
    log.truncate_fully(100)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (100, 100, 100)
    assert log.truncate_to(50)
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)
    assert log.append_as_leader(produced(b"a"), 0).first_offset == 50
    assert log.segments.base_offsets == [50]


def test_the_start_moves_up_to_the_high_watermark(tmp_path: Path) -> None:
    """What is not replicated cannot be deleted."""
    log = open_log(tmp_path)
    fill(log, 10)
    log.update_high_watermark(5)
    with pytest.raises(LogRefusedError, match="OFFSET_OUT_OF_RANGE"):
        log.increment_log_start(6)
    assert log.increment_log_start(5)
    assert not log.increment_log_start(4)
    assert offsets_of(log) == [5, 6, 7, 8, 9]


def test_a_log_is_what_it_was_when_it_is_opened_again(tmp_path: Path) -> None:
    """Closed or killed."""
    log = open_log(tmp_path, SMALL)
    fill(log, 10)
    log.append_as_leader(produced(b"a", header=written_by(7, 0, in_transaction=True)), 4)
    for was_closed in (False, True):
        if was_closed:
            log.close()
        origin = LogOrigin(log.recovery_point, 0, was_closed=was_closed)
        again = open_log(tmp_path, SMALL, origin=origin)
        assert offsets_of(again) == [*range(11)]
        assert again.segments.base_offsets == log.segments.base_offsets
        assert again.epochs.entries == log.epochs.entries
        assert again.producers.first_unstable_offset == 10
        assert again.recovery_point == (11 if was_closed else 0)
        log = again


def test_an_empty_segment_is_not_rolled(tmp_path: Path) -> None:
    """A roll makes a snapshot of the producers."""
    log = open_log(tmp_path)
    assert log.roll() is log.segments.active
    fill(log, 2)
    assert log.roll().base_offset == 2
    assert (tmp_path / f"{2:020d}.snapshot").exists()
    log.flush()
    assert log.recovery_point == 2


def test_a_log_belongs_to_one_topic_id(tmp_path: Path) -> None:
    """A folder of another topic of the same name is not its log."""
    log = open_log(tmp_path)
    assert log.topic_id is None
    log.assign_topic_id(bytes(15) + b"a")
    log.assign_topic_id(bytes(15) + b"a")
    again: PartitionLog = open_log(tmp_path)
    assert again.topic_id == bytes(15) + b"a"
    with pytest.raises(LogFileError, match="another topic"):
        again.assign_topic_id(bytes(15) + b"b")
