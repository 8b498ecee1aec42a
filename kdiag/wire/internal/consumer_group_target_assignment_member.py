"""The planned assignment of one consumer group member.

Record type 7 of `__consumer_offsets`, version 0, flexible from 0.
"""

from kdiag.wire.schema import ZERO_UUID, Int32, String, Struct, Uuid, message


@message(versions="0")
class ConsumerGroupTargetAssignmentMemberKey(Struct):
    """The key of a record of type 7."""

    group_id: String = ""
    member_id: String = ""


class TopicPartition(Struct):
    """One element of `topic_partitions` in ConsumerGroupTargetAssignmentMemberValue."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[Int32] = []


@message(versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMemberValue(Struct):
    """The value of a record of type 7."""

    topic_partitions: list[TopicPartition] = []
