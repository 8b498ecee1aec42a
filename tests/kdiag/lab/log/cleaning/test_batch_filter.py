"""Test intents of Kafka's MemoryRecordsTest: what is left of a batch."""

import pytest

from kdiag.lab.log.cleaning.batch_filter import FilterTerms, LastRecord, filter_batch
from kdiag.lab.log.cleaning.cleaned_transactions import CleanedTransactions
from kdiag.lab.log.cleaning.key_offsets import KeyOffsets
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, Record, TimestampType
from kdiag.wire.records.writer import write_batch
from tiers.cases import for_each

NOW_MS = 5000
RETENTION_MS = 1000
RECORDS = [
    Record(10, 100, b"a", b"old"),
    Record(11, 101, b"b", b"kept"),
    Record(12, 102, b"a", b"new"),
    Record(13, 103, None, b"no key"),
]


def terms_of(
    offsets: dict[str, int],
    *,
    latest: int = 99,
    producers: dict[int, LastRecord] | None = None,
    now_ms: int = NOW_MS,
    keeps_old: bool = True,
) -> FilterTerms:
    """Return terms under which these keys have these last offsets."""
    keys = KeyOffsets()
    for key, offset in offsets.items():
        keys.put(key.encode(), offset)
    keys.latest_offset = latest
    return FilterTerms(keys, producers or {}, 1000, now_ms, RETENTION_MS, keeps_old)


def filtered(
    records: list[Record], header: BatchHeader, terms: FilterTerms
) -> tuple[bytes, RecordBatch | None]:
    """Return a batch as it was, and what is left of it."""
    data = write_batch(records, header)
    (batch,) = read_batches(data).batches
    left = filter_batch(batch, CleanedTransactions(), terms)
    return data, None if left is None else read_batches(left).batches[0]


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
def test_the_last_record_of_each_key_is_left(codec: str) -> None:
    """At its offset and time, in a batch of the same range; records without a key go."""
    header = BatchHeader(
        compression=codec,
        producer_id=7,
        producer_epoch=2,
        base_sequence=5,
        partition_leader_epoch=9,
    )
    _, left = filtered(RECORDS, header, terms_of({"a": 12, "b": 11}))
    assert left is not None
    assert left.records() == RECORDS[1:3]
    assert (left.base_offset, left.last_offset, left.compression) == (10, 13, codec)
    assert (left.producer_id, left.producer_epoch, left.base_sequence) == (7, 2, 5)
    assert (left.partition_leader_epoch, left.max_timestamp, left.crc_ok) == (9, 102, True)


def test_a_batch_of_which_everything_stays_is_not_written_anew() -> None:
    """Byte for byte."""
    data, left = filtered(RECORDS[1:3], BatchHeader(), terms_of({"a": 12, "b": 11}))
    assert left is not None
    assert left.data == data


def test_what_was_not_read_yet_stays() -> None:
    """Beyond the part whose keys are known, also without a key."""
    data, left = filtered(RECORDS, BatchHeader(), terms_of({}, latest=9))
    assert left is not None
    assert left.data == data


def test_a_batch_of_which_nothing_stays_goes() -> None:
    """Unless it is the last of its producer or of the part: then it stays without records."""
    header = BatchHeader(producer_id=7, producer_epoch=0, base_sequence=5, compression="gzip")
    gone = {"a": 50, "b": 50}
    assert filtered(RECORDS, header, terms_of(gone))[1] is None
    for terms in (
        terms_of(gone, producers={7: LastRecord(13, 0)}),
        terms_of(gone)._replace(end_offset=14),
    ):
        _, left = filtered(RECORDS, header, terms)
        assert left is not None
        assert (left.record_count, left.base_offset, left.last_offset) == (0, 10, 13)
        assert (left.producer_id, left.last_sequence, left.crc_ok) == (7, 8, True)
    other = terms_of(gone, producers={7: LastRecord(12, 0)})
    assert filtered(RECORDS, header, other)[1] is None


TOMBSTONE = [Record(10, 100, b"a", None), Record(11, 101, b"b", b"kept")]


def test_a_tombstone_gets_a_delete_horizon_and_goes_when_it_is_over() -> None:
    """Times of records stay; the batch loses its horizon with nothing else."""
    terms = terms_of({"a": 10, "b": 11})
    data, left = filtered(TOMBSTONE, BatchHeader(), terms)
    assert left is not None
    assert left.data != data
    assert left.delete_horizon_ms == NOW_MS + RETENTION_MS
    assert left.records() == TOMBSTONE
    again = filter_batch(left, CleanedTransactions(), terms._replace(now_ms=5999))
    assert again == left.data
    last = filter_batch(left, CleanedTransactions(), terms._replace(now_ms=6000))
    assert last is not None
    (batch,) = read_batches(last).batches
    assert batch.records() == TOMBSTONE[1:]
    assert batch.delete_horizon_ms == NOW_MS + RETENTION_MS


def test_an_outdated_tombstone_goes_at_once() -> None:
    """A later record has its key."""
    _, left = filtered(TOMBSTONE, BatchHeader(), terms_of({"a": 20, "b": 11}))
    assert left is not None
    assert (left.records(), left.delete_horizon_ms) == (TOMBSTONE[1:], None)


def test_the_time_of_appending_is_kept() -> None:
    """It is the batch's, not that of its records."""
    header = BatchHeader(timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=777)
    _, left = filtered(RECORDS, header, terms_of({"a": 12, "b": 11}))
    assert left is not None
    assert [record.timestamp for record in left.records()] == [777, 777]
    assert left.max_timestamp == 777


@for_each("magic", [0, 1])
@for_each("keeps_old", [True, False])
def test_old_messages_keep_their_offsets(
    magic: int,
    keeps_old: bool,  # noqa: FBT001 - a parameter
) -> None:
    """Their tombstones go by the age of their file."""
    records = [Record(10, -1, b"a", b"x"), Record(11, -1, b"b", None), Record(12, -1, b"c", b"z")]
    terms = terms_of({"a": 20, "b": 11, "c": 12}, keeps_old=keeps_old)
    _, left = filtered(records, BatchHeader(magic=magic, compression="gzip"), terms)
    assert left is not None
    assert [record.offset for record in left.records()] == ([11, 12] if keeps_old else [12])
    gone = terms._replace(producers={-1: LastRecord(12, 0)}, end_offset=13)
    for key in (b"b", b"c"):
        gone.keys.put(key, 50)
    assert filtered(records, BatchHeader(magic=magic, compression="gzip"), gone)[1] is None
