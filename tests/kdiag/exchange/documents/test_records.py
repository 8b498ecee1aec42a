from contextvars import copy_context
from hashlib import sha256
from random import Random

import pytest

from kdiag.errors import DecodeError
from kdiag.exchange.documents.records import (
    MAX_SHOWN_BYTES,
    batch_json,
    is_cut,
    iter_records_json,
    records_json,
)
from kdiag.exchange.secrets.redaction import REDACTED
from kdiag.wire.codec.messages import encode
from kdiag.wire.internal.consumer_protocol_assignment import ConsumerProtocolAssignment
from kdiag.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription
from kdiag.wire.internal.group_metadata import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)
from kdiag.wire.internal.user_scram_credential_record import UserScramCredentialRecord
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.compression import ALLOWANCE
from kdiag.wire.records.record import (
    BatchHeader,
    ControlType,
    Record,
    TimestampType,
    write_control_key,
)
from kdiag.wire.records.writer import write_batch
from recordings.exchange_maker import make_batch


def batch_of(records: list[Record], header: BatchHeader | None = None) -> RecordBatch:
    """Return records as a batch that was read."""
    return read_batches(write_batch(records, header or BatchHeader())).batches[0]


def test_the_header_of_a_batch_has_the_documented_keys_and_types() -> None:
    """The keys stand in the order of the contract."""
    header = BatchHeader(
        compression="lz4",
        base_offset=7,
        producer_id=1001,
        producer_epoch=2,
        base_sequence=5,
        partition_leader_epoch=3,
        is_transactional=True,
    )
    batch = batch_of([Record(7, 1_000, b"k", b"v"), Record(8, 1_001, None, b"w")], header)
    assert batch_json(batch) == {
        "baseOffset": 7,
        "magic": 2,
        "crcOk": True,
        "compression": "lz4",
        "timestampType": "CreateTime",
        "isTransactional": True,
        "isControl": False,
        "producerId": 1001,
        "producerEpoch": 2,
        "baseSequence": 5,
        "partitionLeaderEpoch": 3,
        "recordCount": 2,
        "sizeInBytes": batch.size_in_bytes,
    }
    assert list(batch_json(batch))[:3] == ["baseOffset", "magic", "crcOk"]


def test_a_batch_of_old_says_what_it_can() -> None:
    """Magic 0 has no timestamps, magic 1 may have the broker's."""
    old = batch_of([Record(3, value=b"v")], BatchHeader(magic=0))
    assert batch_json(old)["timestampType"] == "NoTimestampType"
    header = BatchHeader(magic=1, timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=9)
    assert (
        batch_json(batch_of([Record(3, 9, value=b"v")], header))["timestampType"] == "LogAppendTime"
    )


def test_a_wrong_checksum_is_told() -> None:
    """A flipped byte shows as `crcOk: false`; nothing else changes."""
    data = bytearray(make_batch(b"value"))
    data[-3] ^= 1
    assert batch_json(read_batches(bytes(data)).batches[0])["crcOk"] is False


def test_what_only_broken_records_would_tell_is_null() -> None:
    """A compressed message of old hides its count; if it cannot be read, nobody knows it."""
    records = [Record(0, value=b"aaaa"), Record(1, value=b"bbbb")]
    data = bytearray(write_batch(records, BatchHeader(magic=1, compression="gzip")))
    data[-9] ^= 0xFF
    form = batch_json(read_batches(bytes(data)).batches[0])
    assert (form["baseOffset"], form["recordCount"]) == (None, None)


def test_records_are_text_or_base64() -> None:
    """What is not UTF-8 has another key, so that both can be told apart."""
    headers = ((b"trace", b"1"), (b"blob", b"\xff"), (b"none", None), (b"\xfe", b""))
    records = [Record(0, 1_000, b"key", b"\xff\x00", headers), Record(1, 1_000, None, None)]
    first, second = records_json(batch_of(records), "orders")
    assert first == {
        "offset": 0,
        "timestamp": 1_000,
        "key": "key",
        "value_b64": b"\xff\x00",
        "headers": [["trace", "1"], ["blob", {"b64": b"\xff"}], ["none", None], ["\ufffd", ""]],
    }
    assert second == {"offset": 1, "timestamp": 1_000, "key": None, "value": None, "headers": []}


def test_a_control_record_says_what_it_controls() -> None:
    """A marker that can be read has a value of fields, any other keeps its bytes."""
    key = write_control_key(ControlType.COMMIT)
    records = [Record(0, 1, key, b"\x00\x00\x00\x00\x00\x07"), Record(1, 1, key, b"\x00\x09\xff")]
    known, unknown = records_json(batch_of(records, BatchHeader(is_control=True)), None)
    assert (known["control"], known["value"]) == ("COMMIT", {"coordinatorEpoch": 7})
    assert (unknown["control"], unknown["value_b64"]) == ("COMMIT", b"\x00\x09\xff")


def test_group_metadata_is_opened_down_to_the_assignments() -> None:
    """The members of a group of consumers carry its own protocol inside."""
    member = MemberMetadata(
        member_id="m",
        subscription=b"\x00\x00" + encode(ConsumerProtocolSubscription(topics=["orders"]), 0),
        assignment=b"\x00\x00" + encode(ConsumerProtocolAssignment(), 0),
    )
    value = GroupMetadataValue(protocol_type="consumer", members=[member])
    record = Record(
        0,
        key=b"\x00\x02" + encode(GroupMetadataKey(group="g"), 0),
        value=b"\x00\x03" + encode(value, 3),
    )
    (form,) = records_json(batch_of([record]), "__consumer_offsets")
    assert (form["type"], form["key"]) == ("GroupMetadata", {"group": "g"})
    assert form["value"]["members"][0]["subscription"] == {"topics": ["orders"], "userData": None}
    assert form["value"]["members"][0]["assignment"]["assignedPartitions"] == []


def test_credentials_in_the_metadata_log_are_redacted() -> None:
    """So is every record of it that cannot be read; `show_secrets` leaves all as it is."""
    credential = UserScramCredentialRecord(name="alice", salt=b"salt", stored_key=b"stored")
    records = [
        Record(0, value=b"\x01\x0b\x00" + encode(credential, 0)),
        Record(1, value=b"\x01\x7e\x00secret"),
    ]
    hidden = records_json(batch_of(records), "__cluster_metadata")
    assert hidden[0]["value"]["storedKey"] == REDACTED
    assert hidden[1]["value"] == REDACTED
    shown = records_json(batch_of(records), "__cluster_metadata", show_secrets=True)
    assert shown[0]["value"]["storedKey"] == b"stored"
    assert "secret" in shown[1]["value"]


def test_wrong_records_raise() -> None:
    """The caller says where the batch lies."""
    data = bytearray(make_batch(b"value"))
    data[60] = 9  # the record count
    with pytest.raises(DecodeError):
        records_json(read_batches(bytes(data)).batches[0], None)


def test_of_a_long_field_start_size_and_hash_are_shown() -> None:
    """A byte less, and all of it is; bytes that are not text have their start in base64."""
    longest = b"\xc3\xa4" * (MAX_SHOWN_BYTES // 2)
    text, data = b"x" + longest, b"\xff" + longest
    headers = ((b"short", b"v"), (b"long", text))
    first, second, third = records_json(
        batch_of([Record(0, 1, text, data, headers), Record(1, 1, None, longest), Record(2, 1)]),
        "orders",
    )
    digest = sha256(data).hexdigest()
    assert first["key_start"] == text[:1023].decode()
    assert (first["key_bytes"], first["value_start_b64"]) == (len(text), data[:1024])
    assert (first["value_bytes"], first["value_sha256"]) == (len(data), digest)
    assert first["headers"][0] == ["short", "v"]
    assert first["headers"][1][1]["bytes"] == len(text)
    assert "key" not in first
    assert second["value"] == longest.decode()
    assert [is_cut(each) for each in (first, second, third)] == [True, False, False]


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
def test_a_batch_that_was_blown_up_is_shown_in_little(codec: str) -> None:
    """Each value is below the limit, and all together are not what a producer sends."""
    header = BatchHeader(compression=codec)
    forms = records_json(
        batch_of([Record(at, 1, None, bytes(900_000)) for at in range(6)], header), "orders"
    )
    assert [form["value_bytes"] for form in forms] == [900_000] * 6


def test_a_batch_that_compresses_well_is_shown_in_full() -> None:
    """Real data may become a tenth, and a few small records of zeros are no harm."""
    values = [Random(1).randbytes(50_000) * 10] * 10
    header = BatchHeader(compression="lz4")
    for records in (values, [bytes(2_000)] * 20):
        batch = batch_of([Record(at, 1, None, each) for at, each in enumerate(records)], header)
        assert not any(map(is_cut, records_json(batch, "orders")))


def test_tables_hold_long_fields_in_full() -> None:
    """They are columns, not documents that a person reads."""
    (form,) = iter_records_json(batch_of([Record(0, 1, None, bytes(2_000_000))]), "t", False, None)  # noqa: FBT003
    assert len(form["value"]) == 2_000_000


def test_a_long_record_of_the_metadata_log_shows_no_secret() -> None:
    """Not even its start: it is not read, so it may hold one."""
    batch = batch_of([Record(0, 1, b"", b"s3cret" * 200_000)])
    (hidden,) = records_json(batch, "__cluster_metadata")
    (shown,) = records_json(batch, "__cluster_metadata", show_secrets=True)
    assert hidden["value"] == REDACTED
    assert "s3cret" not in str(hidden)
    assert shown["value_start"].startswith("s3cret")


@pytest.mark.thorough
def test_forms_of_records_stay_within_the_allowance() -> None:
    """Many small records take a hundred times their bytes as objects; it is that of one run."""
    run, other = copy_context(), copy_context()
    run.run(ALLOWANCE.limit, lambda: 0)
    batch = batch_of([Record(at, 1) for at in range(20_000)])
    assert len(records_json(batch, "orders")) == 20_000
    assert len(other.run(records_json, batch, "orders")) == 20_000
    with pytest.raises(DecodeError, match="20000 records take more than 16777216 bytes of memory"):
        run.run(records_json, batch, "orders")
