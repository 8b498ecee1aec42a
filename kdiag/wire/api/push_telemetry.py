"""A client pushes its own metrics to the broker.

API key 72, version 0, flexible from 0.

Source: KIP-714.
"""

from kdiag.wire.schema import ZERO_UUID, Boolean, Bytes, Int8, Int16, Int32, Struct, Uuid, message


@message(api_key=72, versions="0", flexible="0+")
class PushTelemetryRequest(Struct):
    """The request of PushTelemetry."""

    client_instance_id: Uuid = ZERO_UUID
    subscription_id: Int32 = 0
    terminating: Boolean = False
    compression_type: Int8 = 0
    metrics: Bytes = b""


@message(api_key=72, versions="0", flexible="0+")
class PushTelemetryResponse(Struct):
    """The response of PushTelemetry."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
