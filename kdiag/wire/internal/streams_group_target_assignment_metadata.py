"""The epoch of a streams group's planned assignment.

Record type 20 of `__consumer_offsets`, version 0, flexible from 0.
"""

from typing import Annotated

from kdiag.wire.schema import Int32, Int64, String, Struct, message, tag


@message(versions="0")
class StreamsGroupTargetAssignmentMetadataKey(Struct):
    """The key of a record of type 20."""

    group_id: String = ""


@message(versions="0", flexible="0+")
class StreamsGroupTargetAssignmentMetadataValue(Struct):
    """The value of a record of type 20."""

    assignment_epoch: Int32 = 0
    assignment_timestamp: Annotated[Int64, tag(0)] = 0
