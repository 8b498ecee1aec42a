import pytest

from kdiag.errors import EncodeError
from kdiag.lab.coordinator.runtime.coordinator_record import CoordinatorRecord, write_records
from kdiag.wire.internal.offset_commit import OffsetCommitKey, OffsetCommitValue
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.internal import read_internal_record
from lab_ends.noted_records import committed

KEY = OffsetCommitKey(group="billing", topic="orders", partition=0)


def test_a_record_is_read_as_it_was_written() -> None:
    """By the reader of Kafka's own topics; a tombstone has no value."""
    records = [committed(5), CoordinatorRecord(KEY, None)]
    (batch,) = read_batches(write_records(records, 1000)).batches
    assert (batch.is_transactional, batch.producer_id) == (False, -1)
    read = [read_internal_record("__consumer_offsets", each) for each in batch.records()]
    assert read == [each.as_internal() for each in records]
    assert [each.timestamp for each in batch.records()] == [1000, 1000]
    assert records[0].type == "OffsetCommit"


def test_records_of_a_transaction_have_its_producer_and_no_sequence() -> None:
    """So readers of committed records wait for its marker."""
    (batch,) = read_batches(write_records([committed(5)], 1000, 17, 3)).batches
    assert batch.is_transactional
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (17, 3, -1)


def test_what_does_not_fit_is_refused() -> None:
    """Before anything is written."""
    with pytest.raises(EncodeError):
        write_records([CoordinatorRecord(KEY, OffsetCommitValue(offset=1 << 70), 3)], 1000)
