"""Which partitions' share state exists or is going away.

Record type 15 of `__consumer_offsets`, version 0, flexible from 0.
"""

from kdiag.wire.schema import ZERO_UUID, Int32, String, Struct, Uuid, message


@message(versions="0")
class ShareGroupStatePartitionMetadataKey(Struct):
    """The key of a record of type 15."""

    group_id: String = ""


class TopicPartitionsInfo(Struct):
    """One element of `initializing_topics` in ShareGroupStatePartitionMetadataValue."""

    topic_id: Uuid = ZERO_UUID
    topic_name: String = ""
    partitions: list[Int32] = []


class TopicInfo(Struct):
    """One element of `deleting_topics` in ShareGroupStatePartitionMetadataValue."""

    topic_id: Uuid = ZERO_UUID
    topic_name: String = ""


@message(versions="0", flexible="0+")
class ShareGroupStatePartitionMetadataValue(Struct):
    """The value of a record of type 15."""

    initializing_topics: list[TopicPartitionsInfo] = []
    initialized_topics: list[TopicPartitionsInfo] = []
    deleting_topics: list[TopicInfo] = []
