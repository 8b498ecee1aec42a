import struct

import pytest

from kdiag.errors import DecodeError
from kdiag.wire.records.batch import HEADER_BYTES, RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, Record, TimestampType
from kdiag.wire.records.writer import write_batch
from tiers.cases import for_each

RECORDS = [Record(10, 1000, b"key", b"value"), Record(11, 1001, None, b"v" * 100)]
BEFORE = write_batch([Record(0)])


def read_one(data: bytes) -> RecordBatch:
    """Return the batch that lies behind another one."""
    return read_batches(BEFORE + data).batches[1]


def patched(data: bytes, position: int, number: int, letter: str) -> bytes:
    """Return bytes with a number written over them."""
    changed = bytearray(data)
    struct.pack_into(f">{letter}", changed, position, number)
    return bytes(changed)


def test_a_batch_tells_what_it_is() -> None:
    """The representation is a line, however many bytes the batch lies in."""
    batch = read_one(write_batch(RECORDS, BatchHeader(compression="lz4")))
    size = batch.size_in_bytes

    assert repr(batch) == f"<RecordBatch magic 2, {size} bytes, lz4, last offset 11>"


@for_each("magic", [0, 1, 2])
@for_each("codec", ["none", "gzip"])
def test_any_changed_byte_breaks_the_checksum(magic: int, codec: str) -> None:
    """In magic 2 all from the attributes on counts, before it all behind the checksum."""
    data = write_batch(RECORDS[:1], BatchHeader(magic=magic, compression=codec))
    checked_from = 21 if magic == 2 else 16

    assert read_one(data).crc_ok
    for position in range(checked_from, len(data)):
        changed = patched(data, position, data[position] ^ 1, "B")
        if magic == 2 or position != 16:
            assert not read_one(changed).crc_ok, position


def test_a_codec_without_a_name_is_shown_and_cannot_be_read() -> None:
    """The header stays readable, the records are refused."""
    batch = read_one(patched(write_batch(RECORDS), 21, 7, "h"))

    assert batch.compression == "unknown (7)"
    with pytest.raises(DecodeError, match=r"no such codec: unknown \(7\)"):
        batch.records()


def test_the_bits_of_magic_2_mean_nothing_before() -> None:
    """Transactions, control records and delete horizons came with magic 2."""
    data = write_batch(RECORDS[:1], BatchHeader(magic=1))
    batch = read_one(patched(data, 17, 0x70, "B"))

    assert not batch.is_transactional
    assert not batch.is_control
    assert batch.delete_horizon_ms is None


def test_sequence_numbers_wrap_at_31_bits() -> None:
    """After 2147483647 comes 0; without a producer id there is none."""
    batch = read_one(write_batch(RECORDS, BatchHeader(base_sequence=2**31 - 1)))

    assert batch.last_sequence == 0
    assert read_one(write_batch(RECORDS)).last_sequence == -1


def test_a_fault_in_uncompressed_records_counts_from_the_first_batch() -> None:
    """The offset of a fault leads to the byte in the whole field."""
    data = write_batch(RECORDS)
    key_length = HEADER_BYTES + 4
    batch = read_one(patched(data, key_length, 0x03, "B"))
    for read in (batch.records, batch.columns):
        with pytest.raises(DecodeError) as caught:
            read()
        assert caught.value.path == "records[0].key"
        assert caught.value.offset == len(BEFORE) + key_length


def test_a_fault_in_compressed_records_counts_in_what_was_compressed() -> None:
    """Packed bytes have no place for a fault inside, the unpacked ones have."""
    header = BatchHeader(compression="gzip")
    too_few = patched(write_batch(RECORDS, header), 57, 1, "i")
    for read in (read_one(too_few).records, read_one(too_few).columns):
        with pytest.raises(DecodeError) as caught:
            read()
        assert caught.value.path == "records"
        assert caught.value.offset == 15
    cut = patched(write_batch(RECORDS, header), HEADER_BYTES, 0, "B")
    with pytest.raises(DecodeError) as caught:
        read_one(cut).records()
    assert caught.value.offset == len(BEFORE) + HEADER_BYTES


@pytest.mark.parametrize("count", [-1, 2**31 - 1])
def test_a_count_that_the_bytes_cannot_hold_is_refused(count: int) -> None:
    """The count of the header is compared with the bytes before anything is made."""
    batch = read_one(patched(write_batch(RECORDS), 57, count, "i"))
    for read in (batch.records, batch.columns):
        with pytest.raises(DecodeError, match=f"record_count.*cannot hold {count} records"):
            read()


@pytest.mark.parametrize("magic", [1, 2])
def test_records_are_refused_beyond_the_memory_allowed(magic: int) -> None:
    """Many small records count with what they take in memory, not with their bytes."""
    header = BatchHeader(magic=magic, compression="gzip")
    batch = read_one(write_batch([Record(n) for n in range(1000)], header))

    assert len(batch.records(max_bytes=300_000)) == 1000
    for read in (batch.records, batch.columns):
        with pytest.raises(DecodeError, match="memory"):
            read(max_bytes=100_000)


def test_append_time_covers_what_is_stored() -> None:
    """With LogAppendTime every record has the batch's time, and keeps the producer's."""
    header = BatchHeader(timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=5000)
    batch = read_one(write_batch(RECORDS, header))

    assert [record.timestamp for record in batch.records()] == [5000, 5000]
    assert batch.columns().timestamp.tolist() == [5000, 5000]
    assert batch.records(stored_timestamps=True) == RECORDS


@pytest.mark.parametrize("magic", [0, 1])
def test_a_compressed_message_is_counted_when_asked(magic: int) -> None:
    """A wrapper says neither its first offset nor how many messages it holds."""
    batch = read_one(write_batch(RECORDS, BatchHeader(magic=magic, compression="snappy")))

    assert (batch.base_offset, batch.record_count) == (10, 2)
    again = read_one(write_batch(RECORDS, BatchHeader(magic=magic, compression="snappy")))
    assert (again.record_count, again.base_offset) == (2, 10)
