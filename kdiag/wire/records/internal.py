"""Records of Kafka's own topics and logs as messages: type, key and value.

The coordinators keep offsets, groups, transactions and share groups in topics, the controllers keep
the whole cluster in a log; control records mark transactions and KRaft's epochs in any partition.
A record that does not fit a known type and version to the last byte is not read.

Source: Kafka's CoordinatorRecordSerde, MetadataRecordSerde and ControlRecordUtils.
"""

from struct import Struct as Layout
from typing import Any, Final, NamedTuple, TypeVar

from kdiag.errors import DecodeError
from kdiag.wire.codec.messages import decode
from kdiag.wire.primitives import RefusedError, read_uvarint
from kdiag.wire.record_catalog import (
    CONTROL_RECORDS,
    COORDINATOR_RECORDS,
    METADATA_RECORDS,
    message_class,
)
from kdiag.wire.records.record import ControlType, Record, read_control_type
from kdiag.wire.schema import Struct, info_of

CLUSTER_METADATA: Final = "__cluster_metadata"

_INT16: Final = Layout(">h")
_FRAME_VERSION: Final = 1
_TYPED_CONTROL: Final = frozenset(
    {ControlType.LEADER_CHANGE, ControlType.SNAPSHOT_HEADER, ControlType.SNAPSHOT_FOOTER}
    | {ControlType.KRAFT_VERSION, ControlType.KRAFT_VOTERS}
)

S = TypeVar("S", bound=Struct)


class VersionedMessage(NamedTuple):
    """A message inside another, or inside a record, and its version."""

    message: Any
    version: int


class InternalRecord(NamedTuple):
    """A record of one of Kafka's own topics.

    Attributes:
        type: Kafka's name, such as `OffsetCommit` or `TopicRecord`.
        key: None for a record without a key.
        value: None for a tombstone.
    """

    type: str
    key: VersionedMessage | None
    value: VersionedMessage | None


def read_internal_record(topic: str | None, record: Record) -> InternalRecord | None:
    """Return a record of one of Kafka's own topics as messages; None if it is unreadable."""
    if topic in COORDINATOR_RECORDS:
        return _read_coordinator_record(topic, record)
    if topic in METADATA_RECORDS:
        return read_metadata_record(topic, record.value)
    return None


def read_metadata_record(topic: str, value: bytes | None) -> InternalRecord | None:
    """Return a record of the metadata log, or of the remote log's topic; None if unreadable."""
    if value is None:
        return None
    try:
        frame_version, position = read_uvarint(value, 0)
        record_type, position = read_uvarint(value, position)
        version, position = read_uvarint(value, position)
    except (IndexError, RefusedError):
        return None
    name = METADATA_RECORDS[topic].get(record_type)
    if frame_version != _FRAME_VERSION or name is None:
        return None
    part = _read(name, version, value, position)
    return part and InternalRecord(name, None, part)


def read_control_record(record: Record) -> tuple[ControlType, VersionedMessage | None]:
    """Return the type of a control record, and its value if it is readable."""
    try:
        control = read_control_type(record.key)
    except DecodeError:
        return ControlType.UNKNOWN, None
    name = CONTROL_RECORDS.get(control)
    if name is None or record.value is None or len(record.value) < _INT16.size:
        return control, None
    (version,) = _INT16.unpack_from(record.value)
    # KRaft's messages have their version as a field, a transaction marker has it before the value.
    offset = 0 if control in _TYPED_CONTROL else _INT16.size
    return control, _read(name, version, record.value, offset)


def _read_coordinator_record(topic: str, record: Record) -> InternalRecord | None:
    if record.key is None or len(record.key) < _INT16.size:
        return None
    (record_type,) = _INT16.unpack_from(record.key)
    name = COORDINATOR_RECORDS[topic].get(record_type)
    if name is None:
        return None
    key = _read(f"{name}Key", 0, record.key, _INT16.size)
    value = None
    if record.value is not None:
        if len(record.value) < _INT16.size:
            return None
        (version,) = _INT16.unpack_from(record.value)
        value = _read(f"{name}Value", version, record.value, _INT16.size)
        if value is None:
            return None
    return key and InternalRecord(name, key, value)


def _read(name: str, version: int, data: bytes, offset: int) -> VersionedMessage | None:
    """Return the message that starts at `offset`, if its version is known and it fits exactly."""
    cls = message_class(name)
    if not info_of(cls).versions.covers(version):
        return None
    try:
        return VersionedMessage(decode(cls, version, data, offset), version)
    except DecodeError:
        return None
