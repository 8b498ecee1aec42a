"""An offset that a group has committed, with what was said of it; as a record, and back.

    offset_record("billing", TopicPartitionKey, CommittedOffset(5, -1, "", now_ms))

Source: Kafka's `OffsetAndMetadata`, `GroupCoordinatorRecordHelpers.newOffsetCommitRecord`.
"""

from typing import Final, NamedTuple

from kdiag.lab.coordinator.runtime.coordinator_record import CoordinatorRecord
from kdiag.wire.internal.offset_commit import OffsetCommitKey, OffsetCommitValue

NO_EXPIRY: Final = -1
VALUE_VERSION: Final = 3
EXPIRING_VALUE_VERSION: Final = 1
"""The one version that says when an offset expires, which old clients may ask for."""


class CommittedOffset(NamedTuple):
    """An offset.

    Attributes:
        offset: the next to be read.
        leader_epoch: of the record before it; -1 if it is not known.
        metadata: what the member wrote with it.
        commit_timestamp_ms: when it was committed.
        expire_timestamp_ms: when it may be forgotten, if an old client has said so, or NO_EXPIRY.
        record_offset: where its record is; -1 as long as it has none.
    """

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = NO_EXPIRY
    record_offset: int = -1

    def is_expired(self, base_ms: int | None, now_ms: int, retention_ms: int) -> bool:
        """Return whether it may be forgotten.

        Args:
            base_ms: since when it is not needed; None if it is.
            now_ms: the time.
            retention_ms: how long offsets are kept that nobody needs.
        """
        if base_ms is None:
            return False
        if self.expire_timestamp_ms != NO_EXPIRY:
            return now_ms >= self.expire_timestamp_ms
        return now_ms - base_ms >= retention_ms


def offset_record(
    group_id: str, topic: str, partition: int, committed: CommittedOffset
) -> CoordinatorRecord:
    """Return an offset as a record."""
    expires = committed.expire_timestamp_ms != NO_EXPIRY
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_timestamp_ms,
        expire_timestamp=committed.expire_timestamp_ms,
    )
    key = OffsetCommitKey(group=group_id, topic=topic, partition=partition)
    return CoordinatorRecord(key, value, EXPIRING_VALUE_VERSION if expires else VALUE_VERSION)


def offset_tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    """Return the record that says that an offset is forgotten."""
    return CoordinatorRecord(
        OffsetCommitKey(group=group_id, topic=topic, partition=partition), None
    )


def read_offset(value: OffsetCommitValue, record_offset: int) -> CommittedOffset:
    """Return the offset of a record."""
    return CommittedOffset(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        value.expire_timestamp,
        record_offset,
    )
