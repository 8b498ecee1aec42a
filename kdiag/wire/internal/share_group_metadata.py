"""The epoch of a share group.

Record type 11 of `__consumer_offsets`, version 0, flexible from 0.
"""

from kdiag.wire.schema import Int32, Int64, String, Struct, message


@message(versions="0")
class ShareGroupMetadataKey(Struct):
    """The key of a record of type 11."""

    group_id: String = ""


@message(versions="0", flexible="0+")
class ShareGroupMetadataValue(Struct):
    """The value of a record of type 11."""

    epoch: Int32 = 0
    metadata_hash: Int64 = 0
