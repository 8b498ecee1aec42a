"""The current assignment of one share group member.

Record type 14 of `__consumer_offsets`, version 0, flexible from 0.
"""

from kdiag.wire.schema import ZERO_UUID, Int8, Int32, String, Struct, Uuid, message


@message(versions="0")
class ShareGroupCurrentMemberAssignmentKey(Struct):
    """The key of a record of type 14."""

    group_id: String = ""
    member_id: String = ""


class TopicPartitions(Struct):
    """One element of `assigned_partitions` in ShareGroupCurrentMemberAssignmentValue."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[Int32] = []


@message(versions="0", flexible="0+")
class ShareGroupCurrentMemberAssignmentValue(Struct):
    """The value of a record of type 14."""

    member_epoch: Int32 = 0
    previous_member_epoch: Int32 = 0
    state: Int8 = 0
    assigned_partitions: list[TopicPartitions] = []
