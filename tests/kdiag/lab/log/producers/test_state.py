"""Test intents of Kafka's ProducerStateManagerTest: all producers, and their snapshots.

Left out: verification of transactions (KIP-890), which the broker does; the metric of late ones.
"""

from pathlib import Path

import pytest

from kdiag.lab.log.producers.append_info import AppendOrigin, CompletedTransaction
from kdiag.lab.log.producers.state import ProducerStateManager
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch

EXPIRATION_MS = 1000


def manager(folder: Path) -> ProducerStateManager:
    """Return producers that expire after a second."""
    return ProducerStateManager(folder, EXPIRATION_MS)


def write(
    state: ProducerStateManager,
    producer_id: int,
    offset: int,
    *,
    in_transaction: bool = False,
    timestamp: int = 0,
) -> None:
    """Append a record of a producer, with its offset as its sequence."""
    header = BatchHeader(
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=offset,
        is_transactional=in_transaction,
    )
    (batch,) = read_batches(write_batch([Record(offset, timestamp)], header)).batches
    info = state.prepare(producer_id, AppendOrigin.REPLICATION)
    info.append(batch)
    state.update(info)
    state.map_end_offset = offset + 1


def end(state: ProducerStateManager, producer_id: int, first: int, last: int) -> int:
    """End a transaction; return the last stable offset that belongs to it."""
    completed = CompletedTransaction(producer_id, first, last, is_aborted=True)
    stable = state.last_stable_offset_after(completed)
    state.complete(completed)
    return stable


def test_the_oldest_transaction_holds_the_last_stable_offset_back(tmp_path: Path) -> None:
    """Until its marker is replicated, open transactions or not."""
    state = manager(tmp_path)
    unstable = [state.first_unstable_offset]
    write(state, 1, 99, in_transaction=True)
    write(state, 2, 105, in_transaction=True)
    assert state.first_undecided_offset == 99
    assert state.has_ongoing_transaction(1)
    assert not state.has_ongoing_transaction(3)

    assert end(state, 2, 105, 106) == 99
    assert end(state, 1, 99, 107) == 108
    for high_watermark in (106, 107, 108):
        state.handle_high_watermark(high_watermark)
        unstable.append(state.first_unstable_offset)
    assert unstable == [None, 99, 99, None]


def test_an_append_changes_nothing_before_it_is_taken_over(tmp_path: Path) -> None:
    """A refused one leaves no trace."""
    state = manager(tmp_path)
    write(state, 1, 0)
    info = state.prepare(1, AppendOrigin.REPLICATION)
    info.updated.update_epoch(5)
    assert state.producers[1].epoch == 0


def test_producers_are_read_again_from_the_last_snapshot(tmp_path: Path) -> None:
    """With their open transactions."""
    state = manager(tmp_path)
    write(state, 1, 0)
    write(state, 2, 1, in_transaction=True)
    state.write_snapshot()
    state.write_snapshot()
    write(state, 1, 2)
    again = manager(tmp_path)
    assert again.snapshot_offsets == [2]
    again.truncate_and_reload(0, 3, now_ms=0)
    assert again.map_end_offset == 2
    assert {each: entry.last_sequence for each, entry in again.producers.items()} == {1: 0, 2: 1}
    assert again.first_unstable_offset == 1


def test_expired_producers_are_forgotten_but_for_open_transactions(tmp_path: Path) -> None:
    """In memory as well as when a snapshot is read."""
    state = manager(tmp_path)
    write(state, 1, 0)
    write(state, 2, 1, in_transaction=True)
    write(state, 3, 2, timestamp=500)
    state.write_snapshot()
    again = manager(tmp_path)
    again.truncate_and_reload(0, 3 + 1, now_ms=EXPIRATION_MS)
    assert {*again.producers} == {2, 3}
    state.remove_expired(EXPIRATION_MS - 1)
    assert {*state.producers} == {1, 2, 3}
    state.remove_expired(EXPIRATION_MS)
    assert {*state.producers} == {2, 3}


def test_truncation_goes_back_to_a_snapshot_within_the_log(tmp_path: Path) -> None:
    """Snapshots beyond the new bounds are deleted."""
    state = manager(tmp_path)
    for offset in (0, 1, 2):
        write(state, offset, offset)
        state.write_snapshot()
    state.truncate_and_reload(1, 2, now_ms=0)
    assert state.snapshot_offsets == [2]
    assert {*state.producers} == {0, 1}
    assert [each.name for each in tmp_path.iterdir()] == [f"{2:020d}.snapshot"]
    state.truncate_and_reload(1, 1, now_ms=0)
    assert (state.snapshot_offsets, state.producers, state.map_end_offset) == ([], {}, 1)


def test_a_log_that_only_lost_its_start_keeps_its_producers(tmp_path: Path) -> None:
    """Nothing has to be read again."""
    state = manager(tmp_path)
    write(state, 1, 0)
    write(state, 2, 5)
    state.truncate_and_reload(3, 6, now_ms=0)
    assert {*state.producers} == {1, 2}
    state.truncate_fully(100)
    assert (state.producers, state.map_end_offset) == ({}, 100)


@pytest.mark.parametrize("damage", [b"", b"\x00\x01garbage"])
def test_a_damaged_snapshot_is_deleted_and_the_one_before_it_read(
    tmp_path: Path, damage: bytes
) -> None:
    """The batches after that one tell the rest."""
    state = manager(tmp_path)
    for offset in (0, 1):
        write(state, offset, offset)
        state.write_snapshot()
    (tmp_path / f"{2:020d}.snapshot").write_bytes(damage)
    again = manager(tmp_path)
    again.truncate_and_reload(0, 3, now_ms=0)
    assert (again.map_end_offset, {*again.producers}) == (1, {0})
    assert again.snapshot_offsets == [1]


def test_snapshots_without_a_segment_are_removed_but_for_the_last(tmp_path: Path) -> None:
    """That one is of a shutdown, unless a later segment makes it useless."""
    for offset in (1, 5, 6, 9):
        (tmp_path / f"{offset:020d}.snapshot").touch()
    (tmp_path / f"{4:020d}.snapshot.deleted").touch()
    state = manager(tmp_path)
    state.remove_stray_snapshots({0, 5})
    assert state.snapshot_offsets == [5, 9]
    state.remove_stray_snapshots({0, 5, 10})
    assert state.snapshot_offsets == [5]
