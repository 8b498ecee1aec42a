"""Extends the life of a delegation token.

API key 39, versions 0-2, flexible from 2. Today's Kafka speaks 1-2 only.

Source: KIP-48.
"""

from kdiag.wire.schema import Bytes, Int16, Int32, Int64, Struct, message


@message(api_key=39, versions="0-2", flexible="2+")
class RenewDelegationTokenRequest(Struct):
    """The request of RenewDelegationToken."""

    hmac: Bytes = b""
    renew_period_ms: Int64 = 0


@message(api_key=39, versions="0-2", flexible="2+")
class RenewDelegationTokenResponse(Struct):
    """The response of RenewDelegationToken."""

    error_code: Int16 = 0
    expiry_timestamp_ms: Int64 = 0
    throttle_time_ms: Int32 = 0
