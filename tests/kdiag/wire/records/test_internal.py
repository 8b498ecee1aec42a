from kdiag.wire.codec.messages import encode
from kdiag.wire.internal.end_txn_marker import EndTxnMarker
from kdiag.wire.internal.leader_change_message import LeaderChangeMessage
from kdiag.wire.internal.offset_commit import OffsetCommitKey, OffsetCommitValue
from kdiag.wire.internal.topic_record import TopicRecord
from kdiag.wire.records.internal import (
    read_control_record,
    read_internal_record,
    read_metadata_record,
)
from kdiag.wire.records.record import ControlType, Record, write_control_key

KEY = b"\x00\x01" + encode(OffsetCommitKey(group="g", topic="orders", partition=3), 0)
VALUE = b"\x00\x03" + encode(OffsetCommitValue(offset=42), 3)
OFFSETS = "__consumer_offsets"


def test_a_committed_offset_is_read_by_the_type_in_its_key() -> None:
    """The key says what it is, the value says its own version."""
    read = read_internal_record(OFFSETS, Record(0, key=KEY, value=VALUE))
    assert read is not None
    assert read.key is not None
    assert read.value is not None
    assert (read.type, read.key.message.group, read.key.message.partition) == (
        "OffsetCommit",
        "g",
        3,
    )
    assert (read.value.version, read.value.message.offset) == (3, 42)


def test_a_tombstone_has_a_key_and_no_value() -> None:
    """That is how offsets are removed."""
    read = read_internal_record(OFFSETS, Record(0, key=KEY))
    assert read is not None
    assert read.value is None


def test_what_does_not_fit_a_known_type_is_not_read() -> None:
    """Unknown types and versions, bytes left over or missing, other topics: nothing is guessed."""
    for topic, key, value in (
        (OFFSETS, b"\x00\x63" + KEY[2:], VALUE),
        (OFFSETS, KEY, b"\x00\x63" + VALUE[2:]),
        (OFFSETS, KEY, VALUE + b"\x00"),
        (OFFSETS, KEY, b"\x00"),
        (OFFSETS, KEY + b"\x00", VALUE),
        (OFFSETS, b"\x00", VALUE),
        (OFFSETS, None, VALUE),
        ("orders", KEY, VALUE),
        (None, KEY, VALUE),
    ):
        assert read_internal_record(topic, Record(0, key=key, value=value)) is None


def test_a_metadata_record_is_framed_by_three_varints() -> None:
    """Frame version, type and version stand before it."""
    body = encode(TopicRecord(name="orders"), 0)
    read = read_internal_record("__cluster_metadata", Record(0, value=b"\x01\x02\x00" + body))
    assert read is not None
    assert read.value is not None
    assert (read.type, read.key, read.value.message.name) == ("TopicRecord", None, "orders")
    for value in (None, b"", b"\x02\x02\x00" + body, b"\x01\x7f\x00" + body, b"\x01\x02\x00\xff"):
        assert read_metadata_record("__cluster_metadata", value) is None


def test_the_end_of_a_transaction_has_its_version_before_it() -> None:
    """A commit marker names the coordinator's epoch."""
    value = b"\x00\x00" + encode(EndTxnMarker(coordinator_epoch=5), 0)
    record = Record(0, key=write_control_key(ControlType.COMMIT), value=value)
    control, part = read_control_record(record)
    assert control is ControlType.COMMIT
    assert part is not None
    assert part.message.coordinator_epoch == 5


def test_the_control_records_of_kraft_begin_with_their_version() -> None:
    """A leader change is read as it stands."""
    value = encode(LeaderChangeMessage(version=1, leader_id=3), 1)
    record = Record(0, key=write_control_key(ControlType.LEADER_CHANGE), value=value)
    control, part = read_control_record(record)
    assert control is ControlType.LEADER_CHANGE
    assert part is not None
    assert (part.version, part.message.leader_id) == (1, 3)


def test_wrong_control_records_keep_what_is_known_of_them() -> None:
    """A key that is no key is unknown; a value that cannot be read is left out."""
    assert read_control_record(Record(0, key=b"\x00")) == (ControlType.UNKNOWN, None)
    key = write_control_key(ControlType.ABORT)
    assert read_control_record(Record(0, key=key)) == (ControlType.ABORT, None)
    assert read_control_record(Record(0, key=key, value=b"\x00\x63\x00")) == (
        ControlType.ABORT,
        None,
    )
