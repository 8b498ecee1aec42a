"""The partition counts that a share group was planned on (3.9).

Record type 9 of `__consumer_offsets`, version 0, flexible from 0. Today's Kafka has dropped it.
"""

from kdiag.wire.schema import ZERO_UUID, Int32, String, Struct, Uuid, message


@message(versions="0")
class ShareGroupPartitionMetadataKey(Struct):
    """The key of a record of type 9."""

    group_id: String = ""


class TopicPartitionsInfo(Struct):
    """One element of `initialized_topics` in ShareGroupPartitionMetadataValue."""

    topic_id: Uuid = ZERO_UUID
    topic_name: String = ""
    partitions: list[Int32] = []


class TopicInfo(Struct):
    """One element of `deleting_topics` in ShareGroupPartitionMetadataValue."""

    topic_id: Uuid = ZERO_UUID
    topic_name: String = ""


@message(versions="0", flexible="0+")
class ShareGroupPartitionMetadataValue(Struct):
    """The value of a record of type None."""

    initialized_topics: list[TopicPartitionsInfo] = []
    deleting_topics: list[TopicInfo] = []
