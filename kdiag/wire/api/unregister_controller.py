"""Removes the registration of a KRaft controller that is gone for good.

API key 94, version 0, flexible from 0.
"""

from kdiag.wire.schema import Int16, Int32, String, Struct, message


@message(api_key=94, versions="0", flexible="0+")
class UnregisterControllerRequest(Struct):
    """The request of UnregisterController."""

    controller_id: Int32 = 0


@message(api_key=94, versions="0", flexible="0+")
class UnregisterControllerResponse(Struct):
    """The response of UnregisterController."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = ""
