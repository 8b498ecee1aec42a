"""Which batches of a fetch belong to aborted transactions."""

from kdiag.client.fetch.aborted_transactions import AbortedTransactions
from kdiag.wire.api.fetch import AbortedTransaction
from kdiag.wire.records.batches import RecordBatch, read_batches, write_batch
from kdiag.wire.records.record import BatchHeader, ControlType, Record, write_control_key


def data(producer_id: int, offset: int, *, is_transactional: bool = True) -> RecordBatch:
    """Return a batch of one record."""
    header = BatchHeader(
        producer_id=producer_id, producer_epoch=0, is_transactional=is_transactional
    )
    return only(write_batch([Record(offset, 0, None, b"v")], header))


def marker(producer_id: int, offset: int, kind: ControlType) -> RecordBatch:
    """Return the batch that ends a transaction."""
    header = BatchHeader(
        producer_id=producer_id, producer_epoch=0, is_transactional=True, is_control=True
    )
    return only(write_batch([Record(offset, 0, write_control_key(kind), b"\0\0\0\0\0\0")], header))


def only(written: bytes) -> RecordBatch:
    """Return the one batch that was written."""
    (batch,) = read_batches(written).batches
    return batch


def told(*transactions: tuple[int, int]) -> AbortedTransactions:
    """Return the index of what a broker told: producer and first offset each."""
    return AbortedTransactions([AbortedTransaction(*each) for each in transactions])


def test_a_producers_batches_are_aborted_from_the_first_offset_to_its_marker() -> None:
    """Before it and after it they are not, nor are those of others."""
    index = told((7, 3))
    batches = [
        data(7, 2),
        data(8, 3),
        data(7, 3),
        data(7, 4),
        data(7, 5, is_transactional=False),
        marker(7, 6, ControlType.ABORT),
        data(7, 7),
    ]
    assert [index.has(each) for each in batches] == [False, False, True, True, False, False, False]


def test_a_commit_marker_of_another_transaction_ends_nothing() -> None:
    """Only the abort marker does."""
    index = told((7, 0))
    assert not index.has(marker(7, 0, ControlType.COMMIT))
    assert index.has(data(7, 1))


def test_transactions_of_several_producers_may_overlap() -> None:
    """They are told in any order."""
    index = told((8, 2), (7, 0))
    assert [index.has(each) for each in (data(7, 0), data(8, 1), data(8, 2), data(7, 3))] == [
        True,
        False,
        True,
        True,
    ]


def test_without_aborted_transactions_nothing_is_aborted() -> None:
    """A broker that was asked with read_uncommitted tells none."""
    assert not AbortedTransactions(None).has(data(7, 0))


def test_a_marker_that_cannot_be_read_ends_nothing() -> None:
    """What follows stays aborted, rather than being shown by mistake."""
    header = BatchHeader(producer_id=7, producer_epoch=0, is_transactional=True, is_control=True)
    broken = only(write_batch([Record(1, 0, b"", b"")], header))
    index = told((7, 0))
    assert not index.has(broken)
    assert index.has(data(7, 2))
