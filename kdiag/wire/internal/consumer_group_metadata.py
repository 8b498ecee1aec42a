"""The epoch of a group of the new consumer protocol.

Record type 3 of `__consumer_offsets`, version 0, flexible from 0.
"""

from typing import Annotated

from kdiag.wire.schema import Int32, Int64, String, Struct, message, tag


@message(versions="0")
class ConsumerGroupMetadataKey(Struct):
    """The key of a record of type 3."""

    group_id: String = ""


@message(versions="0", flexible="0+")
class ConsumerGroupMetadataValue(Struct):
    """The value of a record of type 3."""

    epoch: Int32 = 0
    metadata_hash: Annotated[Int64, tag(0)] = 0
