"""A member enters a classic group's rebalance; the answer names generation and leader.

API key 11, versions 0-9, flexible from 6.

Source: KIP-62 (v1 rebalance timeout), KIP-394 (v4 member id first), KIP-345 (v5 static members),
KIP-559 (v7), KIP-800 (v8 reason), KIP-814 (v9).
"""

from typing import Annotated

from kdiag.wire.schema import (
    Boolean,
    Bytes,
    GroupId,
    Int16,
    Int32,
    String,
    Struct,
    ignorable,
    message,
    nullable,
    since,
)


class JoinGroupRequestProtocol(Struct):
    """One element of `protocols` in JoinGroupRequest."""

    name: String = ""
    metadata: Bytes = b""


@message(api_key=11, versions="0-9", flexible="6+")
class JoinGroupRequest(Struct):
    """The request of JoinGroup."""

    group_id: GroupId = ""
    session_timeout_ms: Int32 = 0
    rebalance_timeout_ms: Annotated[Int32, since("1+"), ignorable] = -1
    member_id: String = ""
    group_instance_id: Annotated[String | None, since("5+")] = None
    protocol_type: String = ""
    protocols: list[JoinGroupRequestProtocol] = []
    reason: Annotated[String | None, since("8+"), ignorable] = None


class JoinGroupResponseMember(Struct):
    """One element of `members` in JoinGroupResponse."""

    member_id: String = ""
    group_instance_id: Annotated[String | None, since("5+"), ignorable] = None
    metadata: Bytes = b""


@message(api_key=11, versions="0-9", flexible="6+")
class JoinGroupResponse(Struct):
    """The response of JoinGroup."""

    throttle_time_ms: Annotated[Int32, since("2+"), ignorable] = 0
    error_code: Int16 = 0
    generation_id: Int32 = -1
    protocol_type: Annotated[String | None, since("7+"), ignorable] = None
    protocol_name: Annotated[String | None, nullable("7+")] = ""
    leader: String = ""
    skip_assignment: Annotated[Boolean, since("9+")] = False
    member_id: String = ""
    members: list[JoinGroupResponseMember] = []
