"""The epoch of a consumer group's planned assignment.

Record type 6 of `__consumer_offsets`, version 0, flexible from 0.
"""

from typing import Annotated

from kdiag.wire.schema import Int32, Int64, String, Struct, message, tag


@message(versions="0")
class ConsumerGroupTargetAssignmentMetadataKey(Struct):
    """The key of a record of type 6."""

    group_id: String = ""


@message(versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMetadataValue(Struct):
    """The value of a record of type 6."""

    assignment_epoch: Int32 = 0
    assignment_timestamp: Annotated[Int64, tag(0)] = 0
