from kdiag.lab.log.producers.entry import BatchMetadata, ProducerStateEntry
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches
from made_values.log_maker import produced, written_by


def sent(sequence: int, *, epoch: int = 0) -> RecordBatch:
    """Return a batch of two records as its producer sent it."""
    data = produced(b"a", b"b", header=written_by(7, sequence, epoch=epoch))
    return read_batches(data).batches[0]


def entry_of(*last_sequences: int) -> ProducerStateEntry:
    """Return a producer that wrote batches of two records, at offsets ten times the sequence."""
    entry = ProducerStateEntry(7)
    for last in last_sequences:
        entry.add_batch(0, BatchMetadata(last, last * 10, 1, 1000 + last))
    return entry


def test_the_last_five_batches_are_known() -> None:
    """A sixth takes the place of the oldest."""
    entry = entry_of(1, 3, 5, 7, 9, 11)
    assert [batch.last_sequence for batch in entry.batches] == [3, 5, 7, 9, 11]
    assert entry.find_duplicate(sent(0)) is None
    known = entry.find_duplicate(sent(2))
    assert known is not None
    assert (known.first_offset, known.last_offset) == (29, 30)
    assert (entry.last_sequence, entry.last_data_offset, entry.last_timestamp) == (11, 110, 1011)


def test_a_batch_that_overlaps_a_known_one_is_no_duplicate() -> None:
    """Both its ends have to fit, and its epoch."""
    entry = entry_of(1, 3)
    assert entry.find_duplicate(sent(1)) is None
    assert entry.find_duplicate(sent(2, epoch=1)) is None


def test_sequence_numbers_continue_with_0() -> None:
    """A batch may begin before the turn and end after it."""
    assert BatchMetadata(0, 100, 1, 0).first_sequence == (1 << 31) - 1


def test_a_new_epoch_forgets_the_batches() -> None:
    """Its producer begins again with sequence 0."""
    entry = entry_of(1, 3)
    entry.update_epoch(0)
    assert len(entry.batches) == 2
    entry.update_epoch(1)
    assert (entry.batches, entry.last_sequence, entry.last_offset_delta) == ([], -1, 0)
