import pytest

from kdiag.lab.api.records.down_conversion import down_converted, magic_of_reader
from kdiag.lab.log.refusal import LogRefusedError
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch
from tiers.cases import for_each

HEADERS = ((b"trace", b"1"),)


def written(first: int, count: int = 3, magic: int = 2, compression: str = "none") -> bytes:
    """Return a batch, with headers where its magic has them."""
    headers = HEADERS if magic == 2 else ()
    records = [
        Record(first + at, 1_700_000_000_000 + at, b"k", b"%d" % (first + at), headers)
        for at in range(count)
    ]
    return write_batch(records, BatchHeader(magic=magic, compression=compression))


def records_of(data: bytes) -> list[tuple[int, int, bytes | None]]:
    """Return offset, timestamp and value of each record."""
    records = [record for batch in read_batches(data).batches for record in batch.records()]
    assert not any(record.headers for record in records)
    return [(record.offset, record.timestamp, record.value) for record in records]


def test_a_reader_takes_the_magic_of_its_version() -> None:
    """Fetch 2 is the first with timestamps, 4 the first with batches."""
    assert [magic_of_reader(version) for version in range(6)] == [0, 0, 1, 1, 2, 2]


@for_each("compression", ["none", "gzip", "snappy", "lz4"])
@for_each("magic", [0, 1])
def test_records_keep_their_offsets(magic: int, compression: str) -> None:
    """Those before the one asked for are left out; magic 0 has no timestamps."""
    data = written(5, compression=compression) + written(10, compression=compression)
    told = records_of(down_converted(data, magic, 6))
    assert [(offset, value) for offset, _, value in told] == [
        (offset, b"%d" % offset) for offset in (6, 7, 10, 11, 12)
    ]
    assert [timestamp > 0 for _, timestamp, _ in told] == [magic == 1] * 5
    converted = read_batches(down_converted(data, magic, 0)).batches
    assert {(batch.magic, batch.compression) for batch in converted} == {(magic, compression)}


def test_what_is_old_enough_stays_as_it_is() -> None:
    """Byte for byte; a batch that is cut is left out."""
    old = written(0, magic=0) + written(3, magic=1)
    assert down_converted(old + written(6)[:-1], 1, 0) == old


def test_control_records_are_left_out() -> None:
    """Old readers would take them for records."""
    marker = write_batch(
        [Record(9, 0, b"\0\0\0\1", b"\0\0\0\0\0\0")],
        BatchHeader(is_control=True, is_transactional=True, producer_id=1, producer_epoch=0),
    )
    assert down_converted(marker, 1, 0) == b""


def test_what_cannot_be_converted_is_refused() -> None:
    """Zstandard came after magic 1; damage is told."""
    with pytest.raises(LogRefusedError, match="zstd") as caught:
        down_converted(written(0, compression="zstd"), 1, 0)
    assert caught.value.error == "UNSUPPORTED_COMPRESSION_TYPE"
    damaged = bytearray(written(0))
    damaged[61] = 0xFF
    with pytest.raises(LogRefusedError) as caught:
        down_converted(bytes(damaged), 1, 0)
    assert caught.value.error == "CORRUPT_MESSAGE"
