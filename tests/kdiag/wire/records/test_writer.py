import pytest

from kdiag.errors import EncodeError
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch
from tiers.cases import for_each


def test_what_the_header_leaves_out_is_taken_from_the_records() -> None:
    """Offsets are those of the first and last record, timestamps the first and the largest."""
    (batch,), _ = read_batches(write_batch([Record(5, 70), Record(6, 90), Record(9, 80)]))

    assert (batch.base_offset, batch.last_offset) == (5, 9)
    assert (batch.base_timestamp, batch.max_timestamp) == (70, 90)
    assert batch.producer_id == batch.producer_epoch == batch.base_sequence == -1
    assert batch.partition_leader_epoch == -1


def test_an_empty_batch_can_be_written() -> None:
    """Compaction leaves batches without records, which still cover their offsets."""
    (batch,), _ = read_batches(write_batch([], BatchHeader(base_offset=100, last_offset=109)))

    assert (batch.base_offset, batch.last_offset, batch.record_count) == (100, 109, 0)
    assert (batch.base_timestamp, batch.max_timestamp) == (-1, -1)
    assert batch.records() == []
    assert read_batches(write_batch([])).batches[0].last_offset == 0


@for_each(
    ("header", "path"),
    [
        (BatchHeader(magic=3), "magic"),
        (BatchHeader(compression="brotli"), "compression"),
        (BatchHeader(compression="gzip", compression_form="raw"), "compression_form"),
        (BatchHeader(compression_form="raw"), "compression_form"),
        (BatchHeader(producer_epoch=2**15), ""),
        (BatchHeader(producer_id=2**63), ""),
        (BatchHeader(last_offset=2**40), ""),
        (BatchHeader(magic=1, base_offset=0, max_timestamp=2**63, compression="gzip"), ""),
    ],
)
def test_what_cannot_be_written_is_an_encode_error(header: BatchHeader, path: str) -> None:
    """The error names the field where there is one to name."""
    with pytest.raises(EncodeError) as caught:
        write_batch([Record(0, 0)], header)

    assert path == caught.value.path


@pytest.mark.parametrize("magic", [0, 1])
def test_an_offset_of_more_than_64_bits_is_an_encode_error(magic: int) -> None:
    """Numbers that do not fit their field do not escape as another exception."""
    with pytest.raises(EncodeError):
        write_batch([Record(2**63, 0)], BatchHeader(magic=magic))
