import pytest

from kdiag.lab.log.cleaning.cleaned_transactions import CleanedTransactions
from kdiag.lab.log.files.transaction_index import AbortedTransaction
from kdiag.lab.log.producers.marker import TransactionMarker, write_marker
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, ControlType, Record, write_control_key
from kdiag.wire.records.writer import write_batch

ABORTED = AbortedTransaction(7, 10, 12, 13)


def data(producer_id: int, offset: int) -> RecordBatch:
    """Return a batch in a transaction."""
    header = BatchHeader(producer_id=producer_id, producer_epoch=0, is_transactional=True)
    return read_batches(write_batch([Record(offset)], header)).batches[0]


def marker(producer_id: int, offset: int, control_type: ControlType) -> RecordBatch:
    """Return a marker at an offset."""
    written = bytearray(write_marker(TransactionMarker(control_type, 0, 0), producer_id, 0))
    written[:8] = offset.to_bytes(8, "big")
    return read_batches(bytes(written)).batches[0]


def test_batches_of_an_aborted_transaction_go_and_its_marker_stays() -> None:
    """So does its entry in the index; others are not touched."""
    transactions = CleanedTransactions()
    transactions.add_aborted([ABORTED])
    batches = [data(8, 9), data(7, 10), data(8, 11), marker(7, 12, ControlType.ABORT), data(7, 13)]
    assert [*map(transactions.is_discarded, batches)] == [False, True, False, False, False]
    assert transactions.kept == [ABORTED]


def test_a_marker_without_batches_is_done() -> None:
    """Its entry in the index is not needed any more."""
    transactions = CleanedTransactions()
    transactions.add_aborted([ABORTED])
    assert transactions.is_discarded(marker(7, 12, ControlType.ABORT))
    assert transactions.is_discarded(marker(8, 13, ControlType.COMMIT))
    assert transactions.kept == []


def test_a_commit_marker_stays_as_long_as_a_batch_does() -> None:
    """For one transaction; the next marker of the producer is for the next."""
    transactions = CleanedTransactions()
    batches = [
        data(7, 1),
        marker(7, 2, ControlType.COMMIT),
        marker(7, 3, ControlType.COMMIT),
        data(7, 4),
    ]
    assert [*map(transactions.is_discarded, batches)] == [False, False, True, False]


def test_a_transaction_over_two_segments_is_announced_twice() -> None:
    """Once for each, and counts once."""
    transactions = CleanedTransactions()
    transactions.add_aborted([ABORTED])
    assert transactions.is_discarded(data(7, 10))
    transactions.add_aborted([ABORTED])
    assert transactions.is_discarded(data(7, 11))
    assert not transactions.is_discarded(marker(7, 12, ControlType.ABORT))
    assert transactions.kept == [ABORTED]


@pytest.mark.parametrize("is_empty", [True, False])
def test_other_control_batches(is_empty: bool) -> None:  # noqa: FBT001 - a parameter
    """An empty one is done, one of KRaft's is left alone; batches without a transaction stay."""
    key = write_control_key(ControlType.LEADER_CHANGE)
    records = [] if is_empty else [Record(0, key=key, value=b"")]
    header = BatchHeader(is_control=True, base_offset=0, last_offset=0)
    (batch,) = read_batches(write_batch(records, header)).batches
    assert CleanedTransactions().is_discarded(batch) is is_empty
    (plain,) = read_batches(write_batch([Record(0)])).batches
    assert not CleanedTransactions().is_discarded(plain)
