"""The epoch of a share group's planned assignment.

Record type 12 of `__consumer_offsets`, version 0, flexible from 0.
"""

from typing import Annotated

from kdiag.wire.schema import Int32, Int64, String, Struct, message, tag


@message(versions="0")
class ShareGroupTargetAssignmentMetadataKey(Struct):
    """The key of a record of type 12."""

    group_id: String = ""


@message(versions="0", flexible="0+")
class ShareGroupTargetAssignmentMetadataValue(Struct):
    """The value of a record of type 12."""

    assignment_epoch: Int32 = 0
    assignment_timestamp: Annotated[Int64, tag(0)] = 0
