"""A member of a consumer group: client, subscription, assignor.

Record type 5 of `__consumer_offsets`, version 0, flexible from 0.
"""

from typing import Annotated

import msgspec

from kdiag.wire.schema import Bytes, Int32, String, Struct, message, tag


@message(versions="0")
class ConsumerGroupMemberMetadataKey(Struct):
    """The key of a record of type 5."""

    group_id: String = ""
    member_id: String = ""


class ClassicProtocol(Struct):
    """One element of `supported_protocols` in ClassicMemberMetadata."""

    name: String = ""
    metadata: Bytes = b""


class ClassicMemberMetadata(Struct):
    """The value of `classic_member_metadata` in ConsumerGroupMemberMetadataValue."""

    session_timeout_ms: Int32 = 0
    supported_protocols: list[ClassicProtocol] = []


@message(versions="0", flexible="0+")
class ConsumerGroupMemberMetadataValue(Struct):
    """The value of a record of type 5."""

    instance_id: String | None = ""
    rack_id: String | None = ""
    client_id: String = ""
    client_host: String = ""
    subscribed_topic_names: list[String] = []
    subscribed_topic_regex: String | None = ""
    rebalance_timeout_ms: Int32 = -1
    server_assignor: String | None = ""
    classic_member_metadata: Annotated[ClassicMemberMetadata | None, tag(0)] = msgspec.field(
        default_factory=ClassicMemberMetadata
    )
