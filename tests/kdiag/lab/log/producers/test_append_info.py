"""Test intents of Kafka's ProducerStateManagerTest that concern one append."""

import pytest

from kdiag.lab.log.producers.append_info import (
    AppendOrigin,
    CompletedTransaction,
    ProducerAppendInfo,
)
from kdiag.lab.log.producers.entry import BatchMetadata, ProducerStateEntry
from kdiag.lab.log.producers.marker import TransactionMarker, write_marker
from kdiag.lab.log.refusal import LogRefusedError
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, ControlType, Record
from kdiag.wire.records.writer import write_batch
from tiers.cases import for_each

LAST_SEQUENCE = (1 << 31) - 1


def batch_of(
    sequence: int, *, epoch: int = 0, offset: int = 100, in_transaction: bool = False
) -> RecordBatch:
    """Return a batch of two records, as the log has it."""
    header = BatchHeader(
        producer_id=7,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=in_transaction,
    )
    records = [Record(offset, 1000), Record(offset + 1, 1001)]
    return read_batches(write_batch(records, header)).batches[0]


def marker_of(control_type: ControlType, *, epoch: int = 0, coordinator: int = 0) -> RecordBatch:
    """Return a marker."""
    data = write_marker(TransactionMarker(control_type, coordinator, 2000), 7, epoch)
    return read_batches(data).batches[0]


def after(
    last_sequence: int, *, epoch: int = 0, first_offset: int | None = None
) -> ProducerStateEntry:
    """Return a producer that has written up to a sequence."""
    batches = [BatchMetadata(last_sequence, 50, 0, 900)]
    return ProducerStateEntry(7, epoch, 3, 900, first_offset, batches)


def info_of(
    entry: ProducerStateEntry, origin: AppendOrigin = AppendOrigin.CLIENT
) -> ProducerAppendInfo:
    """Return an append of a producer."""
    return ProducerAppendInfo(entry, origin)


@pytest.mark.parametrize(
    ("last", "sequence"), [(0, 1), (5, 6), (LAST_SEQUENCE, 0)], ids=["next", "later", "turn"]
)
def test_the_next_sequence_is_taken(last: int, sequence: int) -> None:
    """After the largest comes 0. The producer itself is as it was."""
    entry = after(last)
    info = info_of(entry)
    assert info.append(batch_of(sequence)) is None
    assert info.updated.last_sequence == sequence + 1
    assert (info.updated.last_data_offset, info.updated.last_timestamp) == (101, 1001)
    assert entry.last_sequence == last


@for_each("sequence", [0, 1, 3, LAST_SEQUENCE])
def test_a_gap_or_a_step_back_is_refused(sequence: int) -> None:
    """Batches are lost, or come in the wrong order."""
    with pytest.raises(LogRefusedError, match=f"OUT_OF_ORDER.* sequence {sequence} after 1"):
        info_of(after(1)).append(batch_of(sequence))


def test_a_gap_inside_one_append_is_refused() -> None:
    """The batches of an append follow one another."""
    info = info_of(after(1))
    info.append(batch_of(2))
    with pytest.raises(LogRefusedError, match="sequence 5 after 3"):
        info.append(batch_of(5))


def test_an_unknown_producer_may_begin_anywhere() -> None:
    """It may have been forgotten: it wrote nothing for a day, or its records were deleted."""
    info = info_of(ProducerStateEntry(7))
    info.append(batch_of(42))
    assert info.updated.last_sequence == 43


def test_a_new_epoch_begins_with_sequence_0() -> None:
    """An older epoch is a zombie's."""
    info = info_of(after(5))
    info.append(batch_of(0, epoch=1))
    assert (info.updated.epoch, info.updated.last_sequence) == (1, 1)
    with pytest.raises(LogRefusedError, match=r"OUT_OF_ORDER.*epoch 1 with sequence 3"):
        info_of(after(5)).append(batch_of(3, epoch=1))
    with pytest.raises(LogRefusedError, match=r"INVALID_PRODUCER_EPOCH.*epoch 0 .*epoch 1"):
        info_of(after(5, epoch=1)).append(batch_of(6))


def test_a_marker_of_a_new_epoch_fences_the_old_one() -> None:
    """After it the producer begins with sequence 0, in the marker's epoch."""
    info = info_of(after(5), AppendOrigin.COORDINATOR)
    info.append(marker_of(ControlType.ABORT, epoch=1, coordinator=3))
    fenced = info.updated
    with pytest.raises(LogRefusedError, match="INVALID_PRODUCER_EPOCH"):
        info_of(fenced).append(batch_of(6))
    with pytest.raises(LogRefusedError, match="sequence 6 after -1"):
        info_of(fenced).append(batch_of(6, epoch=1))
    info_of(fenced).append(batch_of(0, epoch=1))


def test_replicas_take_what_their_leader_took() -> None:
    """Neither sequence nor epoch is checked there."""
    info = info_of(after(5, epoch=2), AppendOrigin.REPLICATION)
    info.append(batch_of(99, epoch=1))
    info.append(marker_of(ControlType.COMMIT, epoch=1, coordinator=0))
    assert info.updated.coordinator_epoch == 0


def test_a_transaction_begins_with_its_first_batch_and_ends_with_its_marker() -> None:
    """All in one append, which is what a follower fetches."""
    info = info_of(after(5), AppendOrigin.REPLICATION)
    info.append(batch_of(6, in_transaction=True))
    info.append(batch_of(8, offset=102, in_transaction=True))
    assert (info.started_offset, info.updated.transaction_first_offset) == (100, 100)
    completed = info.append(marker_of(ControlType.ABORT, coordinator=3))
    assert completed == CompletedTransaction(7, 100, 0, is_aborted=True)
    assert info.updated.transaction_first_offset is None
    assert info.updated.last_timestamp == 2000


def test_a_marker_without_a_transaction_ends_none() -> None:
    """The coordinator may have added a partition to which nothing was written."""
    info = info_of(after(5), AppendOrigin.COORDINATOR)
    assert info.append(marker_of(ControlType.COMMIT, coordinator=4)) is None
    assert info.updated.coordinator_epoch == 4


def test_a_batch_outside_the_open_transaction_is_refused() -> None:
    """Its records would be neither committed nor aborted."""
    with pytest.raises(LogRefusedError, match="INVALID_TXN_STATE"):
        info_of(after(5, first_offset=40)).append(batch_of(6))


def test_a_marker_of_an_old_coordinator_is_refused() -> None:
    """Another one has taken over."""
    with pytest.raises(LogRefusedError, match="TRANSACTION_COORDINATOR_FENCED"):
        info_of(after(5), AppendOrigin.COORDINATOR).append(marker_of(ControlType.COMMIT))


def test_an_old_epochs_marker_is_refused() -> None:
    """Also from a coordinator."""
    with pytest.raises(LogRefusedError, match="INVALID_PRODUCER_EPOCH"):
        info_of(after(5, epoch=2), AppendOrigin.COORDINATOR).append(marker_of(ControlType.COMMIT))
