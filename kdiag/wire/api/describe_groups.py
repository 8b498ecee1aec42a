"""Describes classic groups: state, protocol, members, subscriptions and assignments.

API key 15, versions 0-6, flexible from 5.

Source: KIP-430 (v3 authorized operations), KIP-345 (v4 static members), KIP-1043 (v6).
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
    since,
)


@message(api_key=15, versions="0-6", flexible="5+")
class DescribeGroupsRequest(Struct):
    """The request of DescribeGroups."""

    groups: list[GroupId] = []
    include_authorized_operations: Annotated[Boolean, since("3+")] = False


class DescribedGroupMember(Struct):
    """One element of `members` in DescribedGroup."""

    member_id: String = ""
    group_instance_id: Annotated[String | None, since("4+"), ignorable] = None
    client_id: String = ""
    client_host: String = ""
    member_metadata: Bytes = b""
    member_assignment: Bytes = b""


class DescribedGroup(Struct):
    """One element of `groups` in DescribeGroupsResponse."""

    error_code: Int16 = 0
    error_message: Annotated[String | None, since("6+")] = None
    group_id: GroupId = ""
    group_state: String = ""
    protocol_type: String = ""
    protocol_data: String = ""
    members: list[DescribedGroupMember] = []
    authorized_operations: Annotated[Int32, since("3+")] = -2_147_483_648


@message(api_key=15, versions="0-6", flexible="5+")
class DescribeGroupsResponse(Struct):
    """The response of DescribeGroups."""

    throttle_time_ms: Annotated[Int32, since("1+"), ignorable] = 0
    groups: list[DescribedGroup] = []
