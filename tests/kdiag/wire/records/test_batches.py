import gzip
import importlib
import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from folders import ORACLE
from kdiag.errors import DecodeError
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.compression import FORMS
from kdiag.wire.records.record import BatchHeader, Record, TimestampType
from kdiag.wire.records.writer import write_batch
from real_kafka.releases import OLDEST, USUAL
from tiers.cases import for_each

RECORDS = ORACLE / "records.jsonl.gz"
MAGIC_2_ONLY = ("leader_epoch", "producer_id", "producer_epoch", "base_sequence")

type_texts = st.sampled_from([TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME])
int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)


def _read_lines() -> list[dict[str, Any]]:
    with gzip.open(RECORDS, "rt", encoding="ascii") as lines:
        return [json.loads(line) for line in lines]


LINES = _read_lines()


def describe_record(record: Record) -> dict[str, Any]:
    """Return a record as the oracle prints it, but for its sequence number."""
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": None if record.key is None else record.key.hex(),
        "value": None if record.value is None else record.value.hex(),
        "headers": [
            [key.decode(), None if value is None else value.hex()] for key, value in record.headers
        ],
    }


def describe_batch(batch: RecordBatch) -> dict[str, Any]:
    """Return a batch as the oracle prints it."""
    described: dict[str, Any] = {
        "magic": batch.magic,
        "size_bytes": batch.size_in_bytes,
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "crc": batch.crc,
        "crc_valid": batch.crc_ok,
        "attributes": batch.attributes,
        "codec": batch.compression,
        "timestamp_type": batch.timestamp_type,
        "max_timestamp": batch.max_timestamp,
        "transactional": batch.is_transactional,
        "control": batch.is_control,
        "records": [describe_record(record) for record in batch.records()],
    }
    if batch.magic == 2:
        described |= {
            "leader_epoch": batch.partition_leader_epoch,
            "producer_id": batch.producer_id,
            "producer_epoch": batch.producer_epoch,
            "base_sequence": batch.base_sequence,
            "last_sequence": batch.last_sequence,
            "record_count": batch.record_count,
            "base_timestamp": batch.base_timestamp,
            "delete_horizon_ms": batch.delete_horizon_ms,
        }
    return described


def expected(line: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what the oracle says of the batches, without the sequence numbers of records."""
    return [
        batch
        | {
            "records": [
                {key: value for key, value in record.items() if key != "sequence"}
                for record in batch["records"]
            ]
        }
        for batch in line["batches"]
    ]


def rewrite(batch: RecordBatch) -> bytes:
    """Return a batch that was read, written again."""
    return write_batch(batch.records(stored_timestamps=True), batch.header())


def test_batches_hold_what_kafka_sees_in_them() -> None:
    """Every header field, checksum and record of 200 record sets is what Kafka itself reads."""
    assert len(LINES) == 200
    for line in LINES:
        batches, trailing_bytes = read_batches(bytes.fromhex(line["hex"]))

        assert expected(line) == [describe_batch(batch) for batch in batches], line["case"]
        assert line["trailing_bytes"] == trailing_bytes


def test_a_view_gives_the_batches_that_its_bytes_give() -> None:
    """Those of magic 2 read on from the view, which nobody has to copy."""
    for line in LINES:
        data = bytes.fromhex(line["hex"])
        batches, trailing_bytes = read_batches(memoryview(data))

        assert expected(line) == [describe_batch(batch) for batch in batches], line["case"]
        assert line["trailing_bytes"] == trailing_bytes
        if all(batch.magic == 2 for batch in batches):
            assert all(isinstance(batch.data, memoryview) for batch in batches)


def test_an_uncompressed_batch_is_written_as_kafka_wrote_it() -> None:
    """What was read and is not compressed becomes the same bytes, but for a wrong checksum."""
    compared = 0
    for line in LINES:
        for batch in read_batches(bytes.fromhex(line["hex"])).batches:
            if batch.compression == "none" and batch.crc_ok:
                end = batch.start + batch.size_in_bytes
                assert batch.data[batch.start : end] == rewrite(batch), line["case"]
                compared += 1
    assert compared > 100


def test_a_compressed_batch_written_again_holds_the_same() -> None:
    """Another compressor gives other bytes, but the same header and the same records."""
    compared = 0
    for line in LINES:
        for batch in read_batches(bytes.fromhex(line["hex"])).batches:
            if batch.compression == "none":
                continue
            (again,), trailing_bytes = read_batches(rewrite(batch))
            differing = {"size_bytes": again.size_in_bytes, "crc": again.crc}

            assert describe_batch(batch) | differing == describe_batch(again), line["case"]
            assert not trailing_bytes
            compared += 1
    assert compared > 80


@pytest.mark.real
@pytest.mark.soak
@pytest.mark.parametrize("version", [OLDEST, USUAL])
def test_kafka_reads_what_is_written(
    version: str,
    kafka_reads: Callable[[str, Iterable[Mapping[str, object]]], list[dict[str, Any]]],
) -> None:
    """Kafka finds the same records in every magic and every form of every codec."""
    records = [
        Record(10, 1_700_000_000_000, b"key", b"value" * 50),
        Record(11, 1_700_000_000_005, None, b""),
        Record(14, 1_700_000_000_003, b"", None),
    ]
    headers = [
        BatchHeader(magic=magic, compression=codec, compression_form=form, base_offset=10)
        for magic in (0, 1, 2)
        for codec, forms in ({"none": ("",)} | FORMS).items()
        for form in forms
        if magic == 2 or codec != "zstd"
    ]
    written = [write_batch(records, header) for header in headers]
    answers = kafka_reads(version, [{"kind": "records", "hex": data.hex()} for data in written])

    for header, data, answer in zip(headers, written, answers, strict=True):
        found = [describe_batch(batch) for batch in read_batches(data).batches]
        assert expected(answer) == found, header
        assert all(batch["crc_valid"] for batch in found)
        assert sum(len(batch["records"]) for batch in found) == 3


def test_a_batch_cut_anywhere_is_trailing_bytes() -> None:
    """Whole batches are returned and the bytes of the cut one are counted, wherever the cut is."""
    batch = write_batch([Record(0, 5, b"k", b"v"), Record(1, 6)])
    message = write_batch([Record(0, 5, b"k", b"v")], BatchHeader(magic=1))
    for cut in range(len(message)):
        batches, trailing_bytes = read_batches(batch + message + batch + message[:cut])

        assert [each.magic for each in batches] == [2, 1, 2]
        assert cut == trailing_bytes
    for cut in range(len(batch)):
        assert ([], cut) == read_batches(batch[:cut])


@for_each(
    ("position", "written", "path"),
    [
        (16, b"\x03", "batches[1].magic"),
        (16, b"\xff", "batches[1].magic"),
        (8, b"\x00\x00\x00\x30", "batches[1].size"),
        (8, b"\xff\xff\xff\xff", "batches[1].size"),
    ],
)
def test_a_wrong_header_is_named_with_its_place(position: int, written: bytes, path: str) -> None:
    """The path says which batch and which field, the offset counts from the first batch."""
    batch = write_batch([Record(0)])
    wrong = batch[:position] + written + batch[position + len(written) :]
    with pytest.raises(DecodeError) as caught:
        read_batches(batch + wrong)

    assert (path, len(batch) + position) == (caught.value.path, caught.value.offset)


def look_at_everything(data: bytes) -> None:
    """Read every batch in every way; the ways must agree."""
    for batch in read_batches(data).batches:
        assert isinstance(batch.crc_ok, bool)
        assert repr(batch)
        assert batch.header().base_offset == batch.base_offset
        assert batch.last_sequence >= -1
        records = batch.records()
        columns = batch.columns()
        assert [record.offset for record in records] == columns.offset.tolist()
        assert [record.timestamp for record in records] == columns.timestamp.tolist()
        assert len(records) == batch.record_count


def fault_of(data: bytes) -> DecodeError | None:
    """Return the one exception that may come out of reading everything."""
    try:
        look_at_everything(data)
    except DecodeError as error:
        return error
    return None


@given(st.sampled_from(LINES), st.data())
def test_flipped_bytes_read_or_raise_a_decode_error(
    line: dict[str, Any], data: st.DataObject
) -> None:
    """Whatever bytes are changed, no other exception comes out, and none without a place."""
    wrong = bytearray.fromhex(line["hex"])
    assume(wrong)
    for _ in range(data.draw(st.integers(1, 3))):
        wrong[data.draw(st.integers(0, len(wrong) - 1))] = data.draw(st.integers(0, 255))
    fault = fault_of(bytes(wrong))
    if fault is not None:
        assert fault.path
        assert not fault.why.startswith("0 bytes after")


@given(st.binary(max_size=300), st.integers(0, 2))
def test_any_bytes_behind_a_right_size_read_or_raise_a_decode_error(
    content: bytes, magic: int
) -> None:
    """Garbage that looks like a batch is refused with a place, or happens to be one."""
    rest = bytes(4) + bytes([magic]) + content
    fault = fault_of(bytes(8) + len(rest).to_bytes(4, "big") + rest)
    if fault is not None:
        assert fault.path


headers_of_records = st.lists(
    st.tuples(st.binary(max_size=5), st.none() | st.binary(max_size=200)), max_size=3
).map(tuple)


@st.composite
def record_lists(draw: st.DrawFn) -> list[Record]:
    """Draw records with ascending offsets and any timestamps."""
    offsets = draw(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5, unique=True))
    base = draw(st.integers(0, 2**63 - 2**31))
    return [
        Record(
            base + offset,
            draw(int64s),
            draw(st.none() | st.binary(max_size=150)),
            draw(st.none() | st.binary(max_size=150) | st.just(bytes(20_000))),
            draw(headers_of_records),
        )
        for offset in sorted(offsets)
    ]


codecs_and_forms = st.sampled_from(
    [("none", "")] + [(codec, form) for codec, forms in FORMS.items() for form in forms]
)


@pytest.mark.thorough
@given(record_lists(), codecs_and_forms, st.data())
def test_a_batch_of_magic_2_reads_back(
    records: list[Record], codec_and_form: tuple[str, str], data: st.DataObject
) -> None:
    """Any records and any header, in every codec: what is read is what was written."""
    codec, form = codec_and_form
    header = BatchHeader(
        compression=codec,
        compression_form=form,
        base_offset=records[0].offset,
        last_offset=records[-1].offset,
        base_timestamp=data.draw(int64s),
        max_timestamp=data.draw(int64s),
        timestamp_type=data.draw(type_texts),
        producer_id=data.draw(int64s),
        producer_epoch=data.draw(st.integers(-(2**15), 2**15 - 1)),
        base_sequence=data.draw(int32s),
        partition_leader_epoch=data.draw(int32s),
        is_transactional=data.draw(st.booleans()),
        is_control=data.draw(st.booleans()),
        has_delete_horizon=data.draw(st.booleans()),
    )
    (batch,), trailing_bytes = read_batches(write_batch(records, header))

    assert header == msgspec.structs.replace(batch.header(), compression_form=form)
    assert records == batch.records(stored_timestamps=True)
    assert batch.crc_ok
    assert not trailing_bytes
    if batch.timestamp_type == "LogAppendTime":
        assert {batch.max_timestamp} == {record.timestamp for record in batch.records()}


@pytest.mark.thorough
@given(record_lists(), codecs_and_forms, st.integers(0, 1))
def test_a_message_set_reads_back(
    records: list[Record], codec_and_form: tuple[str, str], magic: int
) -> None:
    """Any records in magic 0 and 1, in the codecs of that time; magic 0 drops the timestamps."""
    codec, form = codec_and_form
    assume(codec != "zstd")
    for record in records:
        record.headers = ()
    data = write_batch(records, BatchHeader(magic=magic, compression=codec, compression_form=form))
    batches, trailing_bytes = read_batches(data)
    if magic == 0:
        records = [msgspec.structs.replace(record, timestamp=-1) for record in records]

    assert records == [record for batch in batches for record in batch.records()]
    assert all(batch.crc_ok for batch in batches)
    assert not trailing_bytes
    assert (len(records) if codec == "none" else 1) == len(batches)


@pytest.mark.thorough
@for_each(
    ("magic", "codec"),
    [
        (magic, codec)
        for magic in (0, 1, 2)
        for codec in ("none", "gzip", "lz4", "zstd")
        if (magic, codec) not in {(0, "lz4"), (0, "zstd"), (1, "zstd")}
    ],
)
def test_kafka_python_reads_what_is_written(magic: int, codec: str) -> None:
    """A second reader, of other people, finds the same records; it has no snappy of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its own, on import
        memory_records = importlib.import_module("kafka.record.memory_records")
    records = [Record(5, 1000, b"k", b"v" * 300), Record(6, 1001, None, b"w")]
    reader = memory_records.MemoryRecords(
        write_batch(records, BatchHeader(magic=magic, compression=codec))
    )
    found = []
    while reader.has_next():
        batch = reader.next_batch()
        assert batch.validate_crc()
        found += [(each.offset, each.timestamp, each.key, each.value) for each in batch]
    timestamps = [1000, 1001] if magic else [None, None]

    assert found == [(5, timestamps[0], b"k", b"v" * 300), (6, timestamps[1], None, b"w")]
