import pytest

from kdiag.errors import DecodeError, EncodeError
from kdiag.wire.records.compression import DEFAULT_MAX_BYTES, compress
from kdiag.wire.records.message_set import read_records, write_message_set
from kdiag.wire.records.record import BatchHeader, Record, TimestampType
from tiers.cases import for_each

GZIP = 1
LOG_APPEND_TIME = 8


def message(
    offset: int, value: bytes | None, *, magic: int = 1, attributes: int = 0, timestamp: int = 5
) -> bytes:
    """Return a message without a key; the checksum is left 0, reading does not look at it."""
    time = timestamp.to_bytes(8, "big", signed=True) if magic == 1 else b""
    length = (-1 if value is None else len(value)).to_bytes(4, "big", signed=True)
    rest = bytes(4) + bytes([magic, attributes]) + time + b"\xff" * 4 + length + (value or b"")
    return offset.to_bytes(8, "big", signed=True) + len(rest).to_bytes(4, "big") + rest


def read(data: bytes, max_bytes: int = DEFAULT_MAX_BYTES) -> list[Record]:
    """Return the records of the message that `data` starts with."""
    return read_records(data, 0, max_bytes=max_bytes)


def wrapped(*inner: bytes, offset: int = 105, magic: int = 1, attributes: int = GZIP) -> bytes:
    """Return messages wrapped in one that is compressed."""
    value = compress("gzip", b"".join(inner))
    return message(offset, value, magic=magic, attributes=attributes, timestamp=9)


def test_a_message_is_one_record() -> None:
    """An uncompressed message has its own offset and timestamp; magic 0 has no timestamp."""
    assert read(message(7, b"v")) == [Record(7, 5, None, b"v")]
    assert read(message(7, None, magic=0)) == [Record(7, -1, None, None)]


def test_relative_offsets_end_at_the_wrappers() -> None:
    """In magic 1 the wrapper has the offset of the last: 0, 1, 2 in 105 are 103, 104, 105."""
    inner = [message(offset, b"v") for offset in (0, 1, 2)]

    assert [record.offset for record in read(wrapped(*inner))] == [103, 104, 105]


def test_relative_offsets_may_have_gaps() -> None:
    """After compaction the last relative offset still tells where the others are."""
    inner = [message(offset, b"v") for offset in (1, 4)]

    assert [record.offset for record in read(wrapped(*inner))] == [102, 105]


def test_a_producers_wrapper_at_0_leaves_the_offsets_as_they_are() -> None:
    """Not every producer gave the wrapper the offset of the last message."""
    inner = [message(offset, b"v") for offset in (0, 1, 2)]

    assert [record.offset for record in read(wrapped(*inner, offset=0))] == [0, 1, 2]


def test_offsets_of_magic_0_are_absolute() -> None:
    """Before KIP-31 the broker wrote every inner offset."""
    inner = [message(offset, b"v", magic=0) for offset in (50, 60)]

    assert [record.offset for record in read(wrapped(*inner, magic=0))] == [50, 60]


def test_the_append_time_of_a_wrapper_counts_for_all() -> None:
    """With LogAppendTime the inner messages still hold the producer's timestamps."""
    data = wrapped(message(0, b"v"), attributes=GZIP | LOG_APPEND_TIME)
    stored = read_records(data, 0, max_bytes=DEFAULT_MAX_BYTES, stored_timestamps=True)

    assert [record.timestamp for record in read(data)] == [9]
    assert [record.timestamp for record in stored] == [5]
    assert [record.timestamp for record in read(wrapped(message(0, b"v")))] == [5]


@for_each(
    ("data", "path", "why"),
    [
        (wrapped(), "records", "holds no message"),
        (message(0, None, attributes=GZIP), "records", "without a value"),
        (message(0, b"x" * 20, attributes=GZIP), "records", "not gzip"),
        (message(0, b"x" * 20, attributes=5), "records", "no such codec"),
        (wrapped(message(0, b"v", magic=0) * 2), "records[0].magic", "0 inside a message of 1"),
        (wrapped(message(0, b"v"), message(0, b"", attributes=1)), "records[1]", "inside a comp"),
        (wrapped(message(0, b"v"), b"x" * 20), "records[1]", "20 bytes are not a message"),
        (wrapped(message(0, None)[:-1]), "records[0]", "33 bytes are not a message"),
        (wrapped(message(0, b"value")[:-1]), "records[0].size", "where 26 remain"),
        (message(0, b"v")[:-1], "records[0].value", "where 0 bytes remain"),
        (message(0, None)[:-2], "records[0].value", "takes 4 bytes, 2 remain"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_message_is_named_with_its_place(data: bytes, path: str, why: str) -> None:
    """Inside a wrapper, too, the path says which message and which field."""
    size = (len(data) - 12).to_bytes(4, "big")
    with pytest.raises(DecodeError) as caught:
        read(data[:8] + size + data[12:])

    assert path == caught.value.path
    assert why in caught.value.why


def test_bytes_after_the_value_are_refused() -> None:
    """A message ends with its value."""
    data = message(0, b"v") + b"x"
    with pytest.raises(DecodeError, match="1 bytes after the value"):
        read(data[:11] + bytes([len(data) - 12]) + data[12:])


def test_inner_messages_are_counted_against_the_memory() -> None:
    """Many tiny messages are refused before they are all made."""
    data = wrapped(*[message(0, None)] * 1000)

    assert len(read(data)) == 1000
    with pytest.raises(DecodeError, match="more memory than allowed"):
        read(data, max_bytes=100_000)


def test_a_wrapper_is_written_with_the_last_offset_and_the_largest_timestamp() -> None:
    """What is written compressed is one message around all others."""
    records = [Record(100, 8, b"k", b"v"), Record(102, 7)]
    data = write_message_set(records, BatchHeader(magic=1, compression="gzip"))

    assert int.from_bytes(data[:8], "big") == 102
    assert int.from_bytes(data[18:26], "big") == 8
    assert read(data) == records


def test_the_append_time_is_written_where_there_is_one() -> None:
    """Magic 0 has no timestamp, so it has no type of timestamps either."""
    header = BatchHeader(magic=1, timestamp_type=TimestampType.LOG_APPEND_TIME)

    assert write_message_set([Record(0)], header)[17] == LOG_APPEND_TIME
    assert write_message_set([], BatchHeader(magic=1, compression="gzip")) == b""


@pytest.mark.parametrize(
    ("record", "codec", "path"),
    [
        (Record(0, headers=((b"k", b"v"),)), "none", r"records\[0\].headers"),
        (Record(0), "zstd", "compression"),
    ],
)
def test_what_only_magic_2_can_hold_is_refused(record: Record, codec: str, path: str) -> None:
    """Record headers and zstd came with record batches."""
    with pytest.raises(EncodeError, match=path):
        write_message_set([record], BatchHeader(magic=1, compression=codec))
