"""The partition counts that a consumer group was planned on.

Record type 4 of `__consumer_offsets`, version 0, flexible from 0.
"""

from kdiag.wire.schema import ZERO_UUID, Int32, String, Struct, Uuid, message


@message(versions="0")
class ConsumerGroupPartitionMetadataKey(Struct):
    """The key of a record of type 4."""

    group_id: String = ""


class PartitionMetadata(Struct):
    """One element of `partition_metadata` in TopicMetadata."""

    partition: Int32 = 0
    racks: list[String] = []


class TopicMetadata(Struct):
    """One element of `topics` in ConsumerGroupPartitionMetadataValue."""

    topic_id: Uuid = ZERO_UUID
    topic_name: String = ""
    num_partitions: Int32 = 0
    partition_metadata: list[PartitionMetadata] = []


@message(versions="0", flexible="0+")
class ConsumerGroupPartitionMetadataValue(Struct):
    """The value of a record of type 4."""

    topics: list[TopicMetadata] = []
