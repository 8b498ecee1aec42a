"""Shortens the life of a delegation token, or ends it.

API key 40, versions 0-2, flexible from 2. Today's Kafka speaks 1-2 only.

Source: KIP-48.
"""

from kdiag.wire.schema import Bytes, Int16, Int32, Int64, Struct, message


@message(api_key=40, versions="0-2", flexible="2+")
class ExpireDelegationTokenRequest(Struct):
    """The request of ExpireDelegationToken."""

    hmac: Bytes = b""
    expiry_time_period_ms: Int64 = 0


@message(api_key=40, versions="0-2", flexible="2+")
class ExpireDelegationTokenResponse(Struct):
    """The response of ExpireDelegationToken."""

    error_code: Int16 = 0
    expiry_timestamp_ms: Int64 = 0
    throttle_time_ms: Int32 = 0
