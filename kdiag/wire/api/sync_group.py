"""The leader of a classic group hands in the assignment, every other member gets its own.

API key 14, versions 0-5, flexible from 4.

Source: KIP-345 (v3 static members), KIP-559 (v5).
"""

from typing import Annotated

from kdiag.wire.schema import (
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


class SyncGroupRequestAssignment(Struct):
    """One element of `assignments` in SyncGroupRequest."""

    member_id: String = ""
    assignment: Bytes = b""


@message(api_key=14, versions="0-5", flexible="4+")
class SyncGroupRequest(Struct):
    """The request of SyncGroup."""

    group_id: GroupId = ""
    generation_id: Int32 = 0
    member_id: String = ""
    group_instance_id: Annotated[String | None, since("3+")] = None
    protocol_type: Annotated[String | None, since("5+"), ignorable] = None
    protocol_name: Annotated[String | None, since("5+"), ignorable] = None
    assignments: list[SyncGroupRequestAssignment] = []


@message(api_key=14, versions="0-5", flexible="4+")
class SyncGroupResponse(Struct):
    """The response of SyncGroup."""

    throttle_time_ms: Annotated[Int32, since("1+"), ignorable] = 0
    error_code: Int16 = 0
    protocol_type: Annotated[String | None, since("5+"), ignorable] = None
    protocol_name: Annotated[String | None, since("5+"), ignorable] = None
    assignment: Bytes = b""
