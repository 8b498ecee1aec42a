"""A classic group: generation, protocol, leader and members.

Record type 2 of `__consumer_offsets`, versions 0-4, flexible from 4.
"""

from typing import Annotated

from kdiag.wire.schema import Bytes, Int32, Int64, String, Struct, ignorable, message, since


@message(versions="0")
class GroupMetadataKey(Struct):
    """The key of a record of type 2."""

    group: String = ""


class MemberMetadata(Struct):
    """One element of `members` in GroupMetadataValue."""

    member_id: String = ""
    group_instance_id: Annotated[String | None, since("3+"), ignorable] = None
    client_id: String = ""
    client_host: String = ""
    rebalance_timeout: Annotated[Int32, since("1+"), ignorable] = -1
    session_timeout: Int32 = 0
    subscription: Bytes = b""
    assignment: Bytes = b""


@message(versions="0-4", flexible="4+")
class GroupMetadataValue(Struct):
    """The value of a record of type 2."""

    protocol_type: String = ""
    generation: Int32 = 0
    protocol: String | None = ""
    leader: String | None = ""
    current_state_timestamp: Annotated[Int64, since("2+"), ignorable] = -1
    members: list[MemberMetadata] = []
