"""How long earlier transactions took is read from the markers in the log."""

from kdiag.probe.transactions.earlier import durations_ms
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch


def batch(offset: int, at_ms: int, producer_id: int = 7, *, is_marker: bool = False) -> RecordBatch:
    """Return a batch of one record."""
    header = BatchHeader(
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        is_transactional=True,
        is_control=is_marker,
    )
    (made,) = read_batches(write_batch([Record(offset, at_ms, b"", b"")], header)).batches
    return made


def test_a_transaction_takes_from_its_first_record_to_its_marker() -> None:
    """One that began before the first batch is not counted, nor one that is open."""
    log = [
        batch(10, 1_000),
        batch(11, 1_100, is_marker=True),
        batch(12, 2_000),
        batch(13, 2_030),
        batch(14, 2_050, producer_id=8, is_marker=True),
        batch(15, 2_080, is_marker=True),
        batch(16, 3_000),
    ]
    assert durations_ms(log, 7) == [80]
    assert durations_ms([batch(0, 1_000), batch(1, 1_100, is_marker=True)], 7) == [100]
    assert durations_ms([], 7) == []
