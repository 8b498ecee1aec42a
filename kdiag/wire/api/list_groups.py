"""Lists the groups that a broker coordinates, with their state and type.

API key 16, versions 0-5, flexible from 3.

Source: KIP-518 (v4 states), KIP-848 (v5 types).
"""

from typing import Annotated

from kdiag.wire.schema import GroupId, Int16, Int32, String, Struct, ignorable, message, since


@message(api_key=16, versions="0-5", flexible="3+")
class ListGroupsRequest(Struct):
    """The request of ListGroups."""

    states_filter: Annotated[list[String], since("4+")] = []
    types_filter: Annotated[list[String], since("5+")] = []


class ListedGroup(Struct):
    """One element of `groups` in ListGroupsResponse."""

    group_id: GroupId = ""
    protocol_type: String = ""
    group_state: Annotated[String, since("4+"), ignorable] = ""
    group_type: Annotated[String, since("5+"), ignorable] = ""


@message(api_key=16, versions="0-5", flexible="3+")
class ListGroupsResponse(Struct):
    """The response of ListGroups."""

    throttle_time_ms: Annotated[Int32, since("1+"), ignorable] = 0
    error_code: Int16 = 0
    groups: list[ListedGroup] = []
