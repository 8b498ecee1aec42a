"""A member of a classic group says it is alive; the error code tells it to rebalance.

API key 12, versions 0-4, flexible from 4.

Source: KIP-345 (v3 static members).
"""

from typing import Annotated

from kdiag.wire.schema import GroupId, Int16, Int32, String, Struct, ignorable, message, since


@message(api_key=12, versions="0-4", flexible="4+")
class HeartbeatRequest(Struct):
    """The request of Heartbeat."""

    group_id: GroupId = ""
    generation_id: Int32 = 0
    member_id: String = ""
    group_instance_id: Annotated[String | None, since("3+")] = None


@message(api_key=12, versions="0-4", flexible="4+")
class HeartbeatResponse(Struct):
    """The response of Heartbeat."""

    throttle_time_ms: Annotated[Int32, since("1+"), ignorable] = 0
    error_code: Int16 = 0
