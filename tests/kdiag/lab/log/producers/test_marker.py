import pytest

from kdiag.lab.log.producers.marker import TransactionMarker, read_marker, write_marker
from kdiag.lab.log.refusal import LogRefusedError
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, ControlType, Record, write_control_key
from kdiag.wire.records.writer import write_batch

CONTROL = BatchHeader(producer_id=7, producer_epoch=1, is_control=True, is_transactional=True)


def control_batch(*records: Record) -> RecordBatch:
    """Return a control batch of some records."""
    return read_batches(write_batch(records, CONTROL)).batches[0]


@pytest.mark.parametrize("control_type", [ControlType.ABORT, ControlType.COMMIT])
def test_a_marker_is_read_as_it_was_written(control_type: ControlType) -> None:
    """Its batch belongs to the producer, and has no sequence."""
    marker = TransactionMarker(control_type, 12, 1000)
    (batch,) = read_batches(write_marker(marker, 7, 1)).batches
    assert (batch.is_control, batch.is_transactional) == (True, True)
    assert (batch.producer_id, batch.producer_epoch, batch.last_sequence) == (7, 1, -1)
    assert read_marker(batch) == marker


def test_other_control_records_are_no_markers() -> None:
    """Nor is a batch whose records were cleaned away."""
    assert read_marker(control_batch()) is None
    key = write_control_key(ControlType.LEADER_CHANGE)
    assert read_marker(control_batch(Record(0, key=key, value=b"\x00\x00"))) is None


def test_a_damaged_marker_is_refused() -> None:
    """One without its value, and a batch that is no records at all."""
    key = write_control_key(ControlType.COMMIT)
    with pytest.raises(LogRefusedError, match="COMMIT without its value"):
        read_marker(control_batch(Record(0, key=key, value=b"\x00\x00\x00")))
    data = bytearray(write_marker(TransactionMarker(ControlType.COMMIT, 0, 0), 7, 1))
    data[-5:] = b"\xff" * 5
    with pytest.raises(LogRefusedError, match="CORRUPT_MESSAGE"):
        read_marker(read_batches(bytes(data)).batches[0])
