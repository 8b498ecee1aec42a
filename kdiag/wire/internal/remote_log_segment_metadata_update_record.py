"""A segment in tiered storage changed its state.

Record type 1 of `__remote_log_metadata`, version 0, flexible from 0.
"""

import msgspec

from kdiag.wire.schema import ZERO_UUID, Bytes, Int8, Int32, Int64, String, Struct, Uuid, message


class TopicIdPartitionEntry(Struct):
    """The value of `topic_id_partition` in RemoteLogSegmentIdEntry."""

    name: String = ""
    id: Uuid = ZERO_UUID
    partition: Int32 = 0


class RemoteLogSegmentIdEntry(Struct):
    """The value of `remote_log_segment_id` in RemoteLogSegmentMetadataUpdateRecord."""

    topic_id_partition: TopicIdPartitionEntry = msgspec.field(default_factory=TopicIdPartitionEntry)
    id: Uuid = ZERO_UUID


@message(versions="0", flexible="0+")
class RemoteLogSegmentMetadataUpdateRecord(Struct):
    """Kafka's RemoteLogSegmentMetadataUpdateRecord."""

    remote_log_segment_id: RemoteLogSegmentIdEntry = msgspec.field(
        default_factory=RemoteLogSegmentIdEntry
    )
    broker_id: Int32 = 0
    event_timestamp_ms: Int64 = 0
    custom_metadata: Bytes | None = None
    remote_log_segment_state: Int8 = 0
