"""Test intents of Kafka's LogCleanerTest and LogCleanerManagerTest.

Left out: throttling, threads, metrics, buffers that grow, segments whose offsets exceed 31 bits.
"""

import shutil
from pathlib import Path
from random import Random

import pytest

from kdiag.clock import NS_PER_MS, ManualClock
from kdiag.lab.log.cleaning.cleaner import (
    LogCleaning,
    cleanable_part,
    dirtiest,
    dirty_ratio,
    is_due,
)
from kdiag.lab.log.cleaning.key_offsets import KeyOffsets
from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.loader import LogOrigin
from kdiag.lab.log.partition_log import FetchIsolation, PartitionLog
from kdiag.lab.log.refusal import LogFileError
from kdiag.wire.records.record import BatchHeader, ControlType
from made_values.log_maker import (
    PLAIN,
    clock_at,
    end_transaction,
    offsets_of,
    open_log,
    produced,
    records_of,
    written_by,
)

MARKER_KEYS = {bytes(4), b"\0\0\0\1"}
COMPACTED = LogConfig(
    cleanup_policy=frozenset({"compact"}),
    segment_bytes=600,
    index_interval_bytes=100,
    delete_retention_ms=1000,
)


def compacted_log(folder: Path, clock: ManualClock | None = None) -> PartitionLog:
    """Return an empty log that is compacted."""
    return open_log(folder, COMPACTED, clock=clock)


def put(log: PartitionLog, key: bytes, value: bytes | None, header: BatchHeader = PLAIN) -> int:
    """Append a record, and return its offset."""
    offset = log.append_as_leader(produced(value, key=key, header=header), 0).first_offset
    log.update_high_watermark(log.log_end_offset)
    return offset


def clean(log: PartitionLog, cleaned_offset: int = 0) -> int:
    """Roll the log, clean all of it, and return up to where."""
    log.roll()
    cleaning = LogCleaning(log, cleanable_part(log, cleaned_offset))
    cleaning.run()
    assert not cleaning.is_abandoned
    return cleaning.cleaned_offset


def state_of(log: PartitionLog) -> dict[bytes | None, bytes | None]:
    """Return the last value of each key; keys with a tombstone have none."""
    records = [record for record in records_of(log) if record.key not in MARKER_KEYS]
    state = {record.key: record.value for record in records}
    return {key: value for key, value in state.items() if value is not None}


@pytest.mark.thorough
def test_of_each_key_the_last_record_is_kept_at_its_offset(tmp_path: Path) -> None:
    """Over segments, which are merged the next time; one can read from any offset."""
    log = compacted_log(tmp_path)
    random = Random(7)
    last = {}
    for at in range(60):
        key = b"%d" % random.randrange(8)
        last[key] = put(log, key, b"%d" % at + b"." * 50), b"%d" % at + b"." * 50
    before = len(log.segments)
    assert clean(log) == 60
    assert {record.key: (record.offset, record.value) for record in records_of(log)} == last
    put(log, b"0", b"last")
    last[b"0"] = 60, b"last"
    assert clean(log, 60) == 61
    assert {record.key: (record.offset, record.value) for record in records_of(log)} == last
    assert len(log.segments) < before / 2
    assert log.log_end_offset == 61
    for offset in range(60):
        found = log.read(offset, 1 << 20, FetchIsolation.LOG_END)
        assert found.slice is not None
        expected = min(at for at, _ in last.values() if at >= offset)
        assert next(each for each in records_of(log, offset) if each.offset >= offset).offset == (
            expected
        )


def test_a_clean_log_is_opened_as_it_was(tmp_path: Path) -> None:
    """Closed or killed; and nothing but the log is left in the folder."""
    log = compacted_log(tmp_path)
    for at in range(30):
        put(log, b"%d" % (at % 4), b"%d" % at)
    clean(log)
    expected = records_of(log)
    assert {path.suffix for path in tmp_path.iterdir()} <= {
        ".log",
        ".index",
        ".timeindex",
        ".snapshot",
        "",
    }
    for was_closed in (False, True):
        again = open_log(tmp_path, COMPACTED, origin=LogOrigin(was_closed=was_closed))
        assert records_of(again) == expected
        assert again.log_end_offset == 30
        again.close()


def test_a_tombstone_is_kept_for_a_while(tmp_path: Path) -> None:
    """So that whoever reads learns of it; then the key is gone."""
    clock = clock_at()
    log = compacted_log(tmp_path, clock)
    put(log, b"a", b"1")
    put(log, b"a", None)
    put(log, b"b", b"1")
    cleaned = clean(log)
    assert [record.value for record in records_of(log)] == [None, b"1"]
    clock.advance(999 * NS_PER_MS)
    put(log, b"c", b"1")
    cleaned = clean(log, cleaned)
    assert len(records_of(log)) == 3
    clock.advance(NS_PER_MS)
    put(log, b"d", b"1")
    clean(log, cleaned)
    assert [record.key for record in records_of(log)] == [b"b", b"c", b"d"]


def test_the_active_segment_and_open_transactions_are_not_cleaned(tmp_path: Path) -> None:
    """Nor what follows them."""
    log = compacted_log(tmp_path)
    for at in range(3):
        put(log, b"a", b"%d" % at)
    assert cleanable_part(log, 0) == (0, 0)
    log.roll()
    put(log, b"a", b"3", written_by(7, 0, in_transaction=True))
    put(log, b"a", b"4")
    assert clean(log) == 3
    assert offsets_of(log) == [2, 3, 4]
    end_transaction(log, 7, ControlType.COMMIT)
    log.update_high_watermark(log.log_end_offset)
    assert clean(log, 3) == 6
    assert next(record.value for record in records_of(log)) == b"4"


def test_young_segments_are_not_cleaned(tmp_path: Path) -> None:
    """Within `min.compaction.lag.ms` every record can be read."""
    clock = clock_at()
    log = compacted_log(tmp_path, clock)
    for _ in range(2):
        put(log, b"a", b"v" * 500)
    log.roll()
    log.config = LogConfig(
        cleanup_policy=frozenset({"compact"}), segment_bytes=600, min_compaction_lag_ms=500
    )
    assert cleanable_part(log, 0) == (0, 0)
    clock.advance(501 * NS_PER_MS)
    assert cleanable_part(log, 0) == (0, 2)


def aborted_and_committed(log: PartitionLog) -> None:
    """Write a transaction that aborts and one that commits."""
    put(log, b"a", b"kept")
    put(log, b"a", b"aborted", written_by(7, 0, in_transaction=True))
    end_transaction(log, 7, ControlType.ABORT)
    put(log, b"b", b"committed", written_by(8, 0, in_transaction=True))
    end_transaction(log, 8, ControlType.COMMIT)
    log.update_high_watermark(log.log_end_offset)


def test_records_of_aborted_transactions_go_before_their_markers(tmp_path: Path) -> None:
    """They never outdate another record. The marker goes once nothing of them is left."""
    clock = clock_at()
    log = compacted_log(tmp_path, clock)
    aborted_and_committed(log)
    put(log, b"z", b"later of 7", written_by(7, 1))
    put(log, b"z", b"later of 8", written_by(8, 1))
    cleaned = clean(log)
    assert [record.offset for record in records_of(log)] == [0, 2, 3, 4, 6]
    assert len(log.aborted_transactions(0, 100)) == 1
    put(log, b"b", b"new")
    cleaned = clean(log, cleaned)
    assert [record.offset for record in records_of(log)] == [0, 2, 4, 6, 7]
    assert log.aborted_transactions(0, 100) == ()
    clock.advance(1001 * NS_PER_MS)
    put(log, b"y", b"1")
    cleaned = clean(log, cleaned)
    assert [record.offset for record in records_of(log)] == [0, 4, 6, 7, 8]
    clock.advance(1001 * NS_PER_MS)
    put(log, b"y", b"2")
    clean(log, cleaned)
    assert [record.offset for record in records_of(log)] == [0, 6, 7, 9]
    assert state_of(log) == {b"a": b"kept", b"b": b"new", b"z": b"later of 8", b"y": b"2"}


@pytest.mark.parametrize("control_type", [ControlType.ABORT, ControlType.COMMIT])
def test_a_transaction_may_span_segments(tmp_path: Path, control_type: ControlType) -> None:
    """Its records go or stay together, wherever their marker is."""
    log = compacted_log(tmp_path)
    put(log, b"a", b"before")
    for sequence, key in enumerate((b"a", b"b", b"c")):
        put(log, key, b"v" * 300, written_by(7, sequence, in_transaction=True))
        log.roll()
    end_transaction(log, 7, control_type)
    log.update_high_watermark(log.log_end_offset)
    clean(log)
    all_of_it = dict.fromkeys((b"a", b"b", b"c"), b"v" * 300)
    is_aborted = control_type is ControlType.ABORT
    assert state_of(log) == ({b"a": b"before"} if is_aborted else all_of_it)
    assert len(log.aborted_transactions(0, 100)) == is_aborted


def test_a_key_may_look_like_that_of_a_marker(tmp_path: Path) -> None:
    """Markers have no keys for the cleaner: neither outdates the other."""
    log = compacted_log(tmp_path)
    put(log, b"\0\0\0\1", b"old")
    offset = put(log, b"\0\0\0\1", b"new")
    put(log, b"a", b"1", written_by(7, 0, in_transaction=True))
    end_transaction(log, 7, ControlType.COMMIT)
    log.update_high_watermark(log.log_end_offset)
    clean(log)
    assert offsets_of(log) == [offset, offset + 1, offset + 2]


def test_the_last_batch_of_a_producer_stays_for_its_sequence(tmp_path: Path) -> None:
    """Without its records; a duplicate is known also after a crash."""
    log = compacted_log(tmp_path)
    put(log, b"a", b"1", written_by(7, 0))
    put(log, b"a", b"2", written_by(7, 1))
    put(log, b"a", b"3")
    clean(log)
    assert offsets_of(log) == [2]
    for path in tmp_path.glob("*.snapshot"):
        path.unlink()
    again = compacted_log(tmp_path)
    duplicate = produced(b"2", key=b"a", header=written_by(7, 1))
    assert again.append_as_leader(duplicate, 0).is_duplicate


@pytest.mark.thorough
def test_what_does_not_fit_into_memory_is_for_the_next_cleaning(tmp_path: Path) -> None:
    """Cleaning after cleaning comes further, and the state is the same throughout."""
    log = compacted_log(tmp_path)
    for at in range(60):
        put(log, b"%d" % (at % 20), b"%d" % at)
    log.roll()
    expected = state_of(log)
    cleaned = 0
    rounds = 0
    while cleaned < 60:
        cleaning = LogCleaning(log, cleanable_part(log, cleaned), KeyOffsets(max_keys=7))
        cleaning.run()
        assert cleaning.cleaned_offset > cleaned
        cleaned = cleaning.cleaned_offset
        assert state_of(log) == expected
        rounds += 1
    assert rounds > 2
    none = LogCleaning(log, cleanable_part(log, 0), KeyOffsets(max_keys=0))
    none.run()
    assert none.cleaned_offset == 0


@pytest.mark.thorough
@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(30))
def test_any_history_has_the_same_state_when_it_is_clean(tmp_path: Path, seed: int) -> None:
    """Keys, tombstones, codecs, transactions in any order; cleaned every now and then."""
    random = Random(seed)
    clock = clock_at()
    log = compacted_log(tmp_path, clock)
    cleaned = sequence = 0
    expected: dict[bytes | None, bytes | None] = {}
    for at in range(120):
        key = b"%d" % random.randrange(10)
        value = None if random.random() < 0.2 else b"%d" % at
        if random.random() < 0.2:
            pending = written_by(7, sequence, in_transaction=True)
            put(log, key, value, pending)
            sequence += 1
            is_committed = random.random() < 0.5
            end_transaction(log, 7, ControlType.COMMIT if is_committed else ControlType.ABORT)
            log.update_high_watermark(log.log_end_offset)
            if not is_committed:
                continue
        else:
            codec = random.choice(["none", "gzip", "lz4"])
            put(log, key, value, BatchHeader(compression=codec))
        expected[key] = value
        if random.random() < 0.1:
            cleaned = clean(log, cleaned)
            clock.advance(random.randrange(1500) * NS_PER_MS)
    clean(log, cleaned)
    kept = {key: value for key, value in expected.items() if value is not None}
    assert state_of(log) == kept
    assert records_of(compacted_log(tmp_path)) == records_of(log)


@pytest.mark.thorough
def test_a_process_that_dies_while_it_cleans_has_lost_nothing(tmp_path: Path) -> None:
    """After any step its folder is opened with the same state."""
    log = compacted_log(tmp_path / "data")
    log.config = LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=200_000)
    for at in range(16):
        put(log, b"%d" % (at % 3), b"%d" % at + b"." * 60_000)
    log.roll()
    expected = state_of(log)
    cleaning = LogCleaning(log, cleanable_part(log, 0))
    steps = 0
    for steps, _ in enumerate(cleaning.steps(), start=1):
        copied = shutil.copytree(tmp_path / "data", tmp_path / f"copy-{steps}")
        assert state_of(compacted_log(copied)) == expected
    assert steps > 5
    assert state_of(log) == expected


@pytest.mark.parametrize("truncated_at", [0, 3])
def test_a_cleaning_gives_up_a_log_that_is_truncated_meanwhile(
    tmp_path: Path, truncated_at: int
) -> None:
    """What it was about to replace is gone, whether it has begun to write or not."""
    log = compacted_log(tmp_path)
    log.config = LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=400_000)
    for at in range(20):
        put(log, b"%d" % (at % 5), b"v" * 30_000)
    log.roll()
    cleaning = LogCleaning(log, cleanable_part(log, 0))
    for step, _ in enumerate(cleaning.steps()):
        if step == truncated_at:
            log.truncate_fully(5)
    assert cleaning.is_abandoned
    assert (cleaning.cleaned_offset, log.log_end_offset) == (0, 5)
    assert [*tmp_path.glob("*.cleaned")] == []


def test_damage_is_said_and_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    """With the batch."""
    log = compacted_log(tmp_path)
    for at in range(3):
        put(log, b"a", b"%d" % at)
    log.roll()
    path = tmp_path / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[61:64] = b"\xff\xff\xff"
    path.write_bytes(data)
    with pytest.raises(LogFileError, match="the batch with offset 0"):
        LogCleaning(log, cleanable_part(log, 0)).run()
    assert [*tmp_path.glob("*.cleaned")] == []
    assert log.segments.base_offsets == [0, 3]


def test_a_log_is_due_when_enough_of_it_is_dirty(tmp_path: Path) -> None:
    """Or has waited long enough; the dirtiest comes first."""
    logs = {("a", 0): compacted_log(tmp_path / "a-0"), ("b", 0): compacted_log(tmp_path / "b-0")}
    for log in logs.values():
        for _ in range(3):
            put(log, b"a", b"v" * 300)
        log.roll()
    part = cleanable_part(logs["a", 0], 2)
    assert dirty_ratio(logs["a", 0], part) == pytest.approx(1 / 3)
    assert not is_due(logs["a", 0], part)
    faults: list[object] = []
    note = lambda *fault: faults.append(fault)  # noqa: E731 - short
    assert dirtiest(logs, {("a", 0): 0, ("b", 0): 1}, note) == (("a", 0), (0, 3))
    assert dirtiest(logs, {("a", 0): 3, ("b", 0): 3}, note) is None
    assert faults == []
    old = logs["a", 0]
    old.config = LogConfig(
        cleanup_policy=frozenset({"compact"}), segment_bytes=600, max_compaction_lag_ms=10
    )
    assert not is_due(old, part)
    assert isinstance(old.clock, ManualClock)
    old.clock.advance(11 * NS_PER_MS)
    assert is_due(old, part)
    assert cleanable_part(old, 99) == cleanable_part(old, 0)
    old.config = LogConfig()
    assert not is_due(old, part)


def test_old_messages_are_compacted_too(tmp_path: Path) -> None:
    """In their own magic."""
    log = compacted_log(tmp_path)
    for at in range(6):
        put(log, b"%d" % (at % 2), b"%d" % at, BatchHeader(magic=at % 2))
    clean(log)
    assert [(record.offset, record.value) for record in records_of(log)] == [(4, b"4"), (5, b"5")]
