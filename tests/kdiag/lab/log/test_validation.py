"""Test intents of Kafka's LogValidatorTest.

Left out: conversion from one magic to another, which this log does not do, and metrics.
"""

import struct

import pytest

from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.producers.append_info import AppendOrigin
from kdiag.lab.log.refusal import LogRefusedError
from kdiag.lab.log.validation import (
    LARGE_BYTES,
    LARGE_COUNT,
    Appendable,
    AppendTerms,
    assign_offsets,
    read_appendable,
)
from kdiag.wire.records.record import BatchHeader, Record, TimestampType
from kdiag.wire.records.writer import write_batch
from made_values.log_maker import NOW_MS, produced
from tiers.cases import for_each

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
STAMPED = LogConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME)
COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}))
FIRST = 1234


def accept(
    data: bytes, config: LogConfig | None = None, origin: AppendOrigin = AppendOrigin.CLIENT
) -> Appendable:
    """Return batches as a leader of epoch 9 would write them at offset 1234."""
    settings = config or LogConfig()
    terms = AppendTerms(FIRST, 9, NOW_MS + 50, origin)
    return assign_offsets(read_appendable(data, settings, origin), settings, terms)


def offsets_of(accepted: Appendable) -> list[int]:
    """Return the offsets of all records."""
    return [record.offset for batch in accepted.batches for record in batch.records()]


def test_one_large_record_is_accepted() -> None:
    """A batch that is large is read as columns, also if it has one record."""
    accepted = accept(produced(b"v" * LARGE_BYTES))
    assert offsets_of(accepted) == [FIRST]


@for_each("codec", CODECS)
@for_each("count", [1, 3, LARGE_COUNT + 1])
def test_only_offset_and_leader_epoch_are_written(codec: str, count: int) -> None:
    """Everything from the magic on is as the producer sent it, checksum included."""
    data = produced(*[b"v"] * count, header=BatchHeader(compression=codec))
    accepted = accept(data)
    assert accepted.data[:8] == struct.pack(">q", FIRST)
    assert accepted.data[12:16] == struct.pack(">i", 9)
    assert accepted.data[8:12] + accepted.data[16:] == data[8:12] + data[16:]
    assert offsets_of(accepted) == [*range(FIRST, FIRST + count)]


@for_each("codec", CODECS)
@for_each("count", [2, LARGE_COUNT])
def test_log_append_time_is_stamped_into_the_header(codec: str, count: int) -> None:
    """The checksum is made anew, the records stay as they are."""
    data = produced(*[b"v"] * count, header=BatchHeader(compression=codec))
    (batch,) = accept(data, STAMPED).batches
    assert batch.crc_ok
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert {record.timestamp for record in batch.records()} == {NOW_MS + 50}
    assert batch.records(stored_timestamps=True)[1].timestamp == NOW_MS + 1


@for_each("magic", [0, 1])
@for_each("codec", ["none", "gzip", "snappy", "lz4"])
@for_each("config", [LogConfig(), STAMPED], ids=["created", "stamped"])
def test_old_message_sets_keep_their_magic(magic: int, codec: str, config: LogConfig) -> None:
    """They get absolute offsets; those inside a wrapper of magic 1 may stay relative."""
    header = BatchHeader(magic=magic, compression=codec)
    data = produced(b"a", b"b", b"c", header=header)
    accepted = accept(data, config)
    assert offsets_of(accepted) == [FIRST, FIRST + 1, FIRST + 2]
    assert all(batch.crc_ok and batch.magic == magic for batch in accepted.batches)
    assert len(accepted.data) == len(data) or codec != "none"
    times = [record.timestamp for batch in accepted.batches for record in batch.records()]
    if not magic:
        assert times == [-1] * 3
    else:
        created = [NOW_MS, NOW_MS + 1, NOW_MS + 2]
        assert times == ([NOW_MS + 50] * 3 if config.is_stamped else created)


@pytest.mark.parametrize("target", ["uncompressed", "gzip", "lz4"])
def test_a_topic_may_have_a_codec_of_its_own(target: str) -> None:
    """Its records are written anew, with the producer's numbers."""
    header = BatchHeader(compression="zstd", producer_id=5, producer_epoch=1, base_sequence=7)
    data = produced(b"a" * 50, b"b" * 50, header=header)
    (batch,) = accept(data, LogConfig(compression_type=target)).batches
    assert batch.compression == ("none" if target == "uncompressed" else target)
    assert (batch.producer_id, batch.base_sequence, batch.partition_leader_epoch) == (5, 7, 9)
    assert [record.value for record in batch.records()] == [b"a" * 50, b"b" * 50]
    assert batch.base_offset == FIRST


def test_a_largest_timestamp_that_is_wrong_is_corrected() -> None:
    """Searches by time rely on it."""
    data = produced(b"a", b"b", header=BatchHeader(max_timestamp=NOW_MS - 5))
    (batch,) = accept(data).batches
    assert (batch.max_timestamp, batch.crc_ok) == (NOW_MS + 1, True)


def test_compressed_records_that_are_not_numbered_one_by_one_are_written_anew() -> None:
    """The batch still spans as many offsets as it has records."""
    records = [Record(0, NOW_MS), Record(5, NOW_MS), Record(2, NOW_MS)]
    for extra in (0, LARGE_COUNT):
        more = [Record(3 + at, NOW_MS) for at in range(extra)]
        count = 3 + extra
        header = BatchHeader(compression="gzip", last_offset=count - 1)
        data = write_batch([*records, *more], header)
        assert offsets_of(accept(data)) == [*range(FIRST, FIRST + count)]


@pytest.mark.parametrize("count", [1, LARGE_COUNT + 2])
def test_a_compacted_topic_takes_no_record_without_a_key(count: int) -> None:
    """Each one is named by its number in the batch."""
    records = [Record(at, NOW_MS, None if at == count - 1 else b"k") for at in range(count)]
    with pytest.raises(LogRefusedError, match="INVALID_RECORD") as raised:
        accept(write_batch(records), COMPACTED)
    assert [error.batch_index for error in raised.value.record_errors] == [count - 1]


@for_each(
    ("timestamp", "is_taken"),
    [
        (NOW_MS + 50 + 1000, True),
        (NOW_MS + 50 + 1001, False),
        (NOW_MS + 50 - 2000, True),
        (NOW_MS + 50 - 2001, False),
        (-1, True),
    ],
)
@for_each("count", [1, LARGE_COUNT])
def test_timestamps_have_limits(
    timestamp: int,
    is_taken: bool,  # noqa: FBT001 - a row of the table
    count: int,
) -> None:
    """A record without a timestamp has none to exceed."""
    config = LogConfig(message_timestamp_before_max_ms=2000, message_timestamp_after_max_ms=1000)
    data = write_batch([Record(at, timestamp) for at in range(count)])
    if is_taken:
        accept(data, config)
        return
    with pytest.raises(LogRefusedError, match=f"INVALID_TIMESTAMP.*{count} records") as raised:
        accept(data, config)
    assert len(raised.value.record_errors) == count


@pytest.mark.parametrize("count", [1, LARGE_COUNT])
def test_a_producer_may_not_say_that_the_log_stamped_it(count: int) -> None:
    """Where the log stamps, or where there is no timestamp to judge by."""
    header = BatchHeader(timestamp_type=TimestampType.LOG_APPEND_TIME)
    with pytest.raises(LogRefusedError, match="INVALID_TIMESTAMP"):
        accept(produced(*[b"a"] * count, header=header), STAMPED)
    with pytest.raises(LogRefusedError, match="INVALID_TIMESTAMP"):
        accept(write_batch([Record(at) for at in range(count)], header))


BATCH = produced(b"a", b"b")


@for_each(
    ("data", "error"),
    [
        (BATCH[:-1] + b"?", "CORRUPT_MESSAGE"),
        (BATCH[:16] + b"\x03" + BATCH[17:], "CORRUPT_MESSAGE"),
        (BATCH[:8] + bytes(4) + BATCH[12:], "CORRUPT_MESSAGE"),
        (BATCH + BATCH, "INVALID_RECORD"),
        (write_batch([Record(5), Record(6)]), "INVALID_RECORD"),
        (produced(b"a", header=BatchHeader(last_offset=5)), "INVALID_RECORD"),
        (produced(b"a", header=BatchHeader(last_offset=-1)), "INVALID_RECORD"),
        (write_batch([]), "INVALID_RECORD"),
        (produced(b"a", header=BatchHeader(is_control=True)), "INVALID_RECORD"),
        (produced(b"a", header=BatchHeader(producer_id=1)), "INVALID_RECORD"),
        (produced(b"v" * (1 << 20) + b"v"), "MESSAGE_TOO_LARGE"),
        (
            produced(b"a", header=BatchHeader(magic=1))
            + produced(b"b", header=BatchHeader(magic=0)),
            "INVALID_RECORD",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(data: bytes, error: str) -> None:
    """Nothing of it is appended."""
    with pytest.raises(LogRefusedError) as raised:
        accept(data)
    assert raised.value.error == error


def test_damage_inside_a_batch_with_a_right_checksum_is_refused() -> None:
    """Uncompressed it is a wrong record, compressed the codec's."""
    for codec, error in (("none", "INVALID_RECORD"), ("gzip", "CORRUPT_MESSAGE")):
        data = bytearray(produced(b"a", b"b", header=BatchHeader(compression=codec)))
        data[61:65] = b"\xff" * 4
        accepted = read_appendable(BATCH, LogConfig(), AppendOrigin.CLIENT)
        assert accepted.batches
        with pytest.raises(LogRefusedError) as raised:
            accept(with_right_checksum(data))
        assert raised.value.error == error


def with_right_checksum(data: bytearray) -> bytes:
    """Return a batch whose checksum fits its bytes."""
    from kdiag.wire.records.compression import crc32c  # noqa: PLC0415

    struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    return bytes(data)


def test_a_codec_that_does_not_exist_is_refused() -> None:
    """And zstd in messages that are older than it."""
    data = bytearray(BATCH)
    data[22] |= 5
    with pytest.raises(LogRefusedError, match="CORRUPT_MESSAGE: compression unknown"):
        accept(with_right_checksum(data))


def test_coordinators_may_write_what_clients_may_not() -> None:
    """Control batches; their base offset does not count."""
    header = BatchHeader(is_control=True, producer_id=1, producer_epoch=0)
    (batch,) = accept(
        write_batch([Record(7, NOW_MS, b"\0\0\0\1", b"\0\0\0\0\0\0")], header),
        COMPACTED,
        AppendOrigin.COORDINATOR,
    ).batches
    assert batch.base_offset == FIRST


def test_a_cut_batch_at_the_end_is_left_out() -> None:
    """It was never whole."""
    read = read_appendable(BATCH + BATCH[:40], LogConfig(), AppendOrigin.CLIENT)
    assert (len(read.batches), read.data) == (1, BATCH)
    assert read_appendable(b"", LogConfig(), AppendOrigin.CLIENT).batches == []
