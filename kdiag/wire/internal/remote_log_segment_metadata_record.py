"""A log segment is being copied to tiered storage.

Record type 0 of `__remote_log_metadata`, version 0, flexible from 0.
"""

from typing import Annotated

import msgspec

from kdiag.wire.schema import (
    ZERO_UUID,
    Boolean,
    Bytes,
    Int8,
    Int32,
    Int64,
    String,
    Struct,
    Uuid,
    message,
    tag,
)


class TopicIdPartitionEntry(Struct):
    """The value of `topic_id_partition` in RemoteLogSegmentIdEntry."""

    name: String = ""
    id: Uuid = ZERO_UUID
    partition: Int32 = 0


class RemoteLogSegmentIdEntry(Struct):
    """The value of `remote_log_segment_id` in RemoteLogSegmentMetadataRecord."""

    topic_id_partition: TopicIdPartitionEntry = msgspec.field(default_factory=TopicIdPartitionEntry)
    id: Uuid = ZERO_UUID


class SegmentLeaderEpochEntry(Struct):
    """One element of `segment_leader_epochs` in RemoteLogSegmentMetadataRecord."""

    leader_epoch: Int32 = 0
    offset: Int64 = 0


@message(versions="0", flexible="0+")
class RemoteLogSegmentMetadataRecord(Struct):
    """Kafka's RemoteLogSegmentMetadataRecord."""

    remote_log_segment_id: RemoteLogSegmentIdEntry = msgspec.field(
        default_factory=RemoteLogSegmentIdEntry
    )
    start_offset: Int64 = 0
    end_offset: Int64 = 0
    broker_id: Int32 = 0
    max_timestamp_ms: Int64 = 0
    event_timestamp_ms: Int64 = 0
    segment_leader_epochs: list[SegmentLeaderEpochEntry] = []
    segment_size_in_bytes: Int32 = 0
    custom_metadata: Bytes | None = None
    remote_log_segment_state: Int8 = 0
    txn_index_empty: Annotated[Boolean, tag(0)] = False
