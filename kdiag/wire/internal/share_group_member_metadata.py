"""A member of a share group: client and subscription.

Record type 10 of `__consumer_offsets`, version 0, flexible from 0.
"""

from kdiag.wire.schema import String, Struct, message


@message(versions="0")
class ShareGroupMemberMetadataKey(Struct):
    """The key of a record of type 10."""

    group_id: String = ""
    member_id: String = ""


@message(versions="0", flexible="0+")
class ShareGroupMemberMetadataValue(Struct):
    """The value of a record of type 10."""

    rack_id: String | None = ""
    client_id: String = ""
    client_host: String = ""
    subscribed_topic_names: list[String] = []
