"""Deletes groups that have no members, with their committed offsets.

API key 42, versions 0-3, flexible from 2.

Source: KIP-229.
"""

from typing import Annotated

from kdiag.wire.schema import GroupId, Int16, Int32, String, Struct, ignorable, message, since


@message(api_key=42, versions="0-3", flexible="2+")
class DeleteGroupsRequest(Struct):
    """The request of DeleteGroups."""

    groups_names: list[GroupId] = []


class DeletableGroupResult(Struct):
    """One element of `results` in DeleteGroupsResponse."""

    group_id: GroupId = ""
    error_code: Int16 = 0
    error_message: Annotated[String | None, since("3+"), ignorable] = None


@message(api_key=42, versions="0-3", flexible="2+")
class DeleteGroupsResponse(Struct):
    """The response of DeleteGroups."""

    throttle_time_ms: Int32 = 0
    results: list[DeletableGroupResult] = []
