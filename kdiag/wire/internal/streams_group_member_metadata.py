"""A member of a streams group: client, process and tags.

Record type 19 of `__consumer_offsets`, version 0, flexible from 0.
"""

from kdiag.wire.schema import Int32, String, Struct, Uint16, message


@message(versions="0")
class StreamsGroupMemberMetadataKey(Struct):
    """The key of a record of type 19."""

    group_id: String = ""
    member_id: String = ""


class Endpoint(Struct):
    """The value of `user_endpoint` in StreamsGroupMemberMetadataValue."""

    host: String = ""
    port: Uint16 = 0


class KeyValue(Struct):
    """One element of `client_tags` in StreamsGroupMemberMetadataValue."""

    key: String = ""
    value: String = ""


@message(versions="0", flexible="0+")
class StreamsGroupMemberMetadataValue(Struct):
    """The value of a record of type 19."""

    instance_id: String | None = ""
    rack_id: String | None = ""
    client_id: String = ""
    client_host: String = ""
    rebalance_timeout_ms: Int32 = -1
    topology_epoch: Int32 = 0
    process_id: String = ""
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] = []
