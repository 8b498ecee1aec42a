"""A partition's segments in tiered storage go away.

Record type 2 of `__remote_log_metadata`, version 0, flexible from 0.
"""

import msgspec

from kdiag.wire.schema import ZERO_UUID, Int8, Int32, Int64, String, Struct, Uuid, message


class TopicIdPartitionEntry(Struct):
    """The value of `topic_id_partition` in RemotePartitionDeleteMetadataRecord."""

    name: String = ""
    id: Uuid = ZERO_UUID
    partition: Int32 = 0


@message(versions="0", flexible="0+")
class RemotePartitionDeleteMetadataRecord(Struct):
    """Kafka's RemotePartitionDeleteMetadataRecord."""

    topic_id_partition: TopicIdPartitionEntry = msgspec.field(default_factory=TopicIdPartitionEntry)
    broker_id: Int32 = 0
    event_timestamp_ms: Int64 = 0
    remote_partition_delete_state: Int8 = 0
