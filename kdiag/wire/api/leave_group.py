"""Members leave a classic group at once instead of waiting for their session to time out.

API key 13, versions 0-5, flexible from 4.

Source: KIP-345 (v3 many members), KIP-800 (v5 reason).
"""

from typing import Annotated

from kdiag.wire.schema import GroupId, Int16, Int32, String, Struct, ignorable, message, since


class MemberIdentity(Struct):
    """One element of `members` in LeaveGroupRequest."""

    member_id: String = ""
    group_instance_id: String | None = None
    reason: Annotated[String | None, since("5+"), ignorable] = None


@message(api_key=13, versions="0-5", flexible="4+")
class LeaveGroupRequest(Struct):
    """The request of LeaveGroup."""

    group_id: GroupId = ""
    member_id: Annotated[String, since("0-2")] = ""
    members: Annotated[list[MemberIdentity], since("3+")] = []


class MemberResponse(Struct):
    """One element of `members` in LeaveGroupResponse."""

    member_id: String = ""
    group_instance_id: String | None = ""
    error_code: Int16 = 0


@message(api_key=13, versions="0-5", flexible="4+")
class LeaveGroupResponse(Struct):
    """The response of LeaveGroup."""

    throttle_time_ms: Annotated[Int32, since("1+"), ignorable] = 0
    error_code: Int16 = 0
    members: Annotated[list[MemberResponse], since("3+")] = []
