"""The current assignment of one consumer group member.

Record type 8 of `__consumer_offsets`, version 0, flexible from 0.
"""

from typing import Annotated

from kdiag.wire.schema import ZERO_UUID, Int8, Int32, String, Struct, Uuid, message, tag


@message(versions="0")
class ConsumerGroupCurrentMemberAssignmentKey(Struct):
    """The key of a record of type 8."""

    group_id: String = ""
    member_id: String = ""


class TopicPartitions(Struct):
    """One element of `assigned_partitions` in ConsumerGroupCurrentMemberAssignmentValue."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[Int32] = []
    assignment_epochs: Annotated[list[Int32] | None, tag(0)] = []


@message(versions="0", flexible="0+")
class ConsumerGroupCurrentMemberAssignmentValue(Struct):
    """The value of a record of type 8."""

    member_epoch: Int32 = 0
    previous_member_epoch: Int32 = 0
    state: Int8 = 0
    assigned_partitions: list[TopicPartitions] = []
    partitions_pending_revocation: list[TopicPartitions] = []
