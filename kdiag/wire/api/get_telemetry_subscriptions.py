"""A client learns which metrics the cluster wants from it, how often and how compressed.

API key 71, version 0, flexible from 0.

Source: KIP-714.
"""

from kdiag.wire.schema import ZERO_UUID, Boolean, Int8, Int16, Int32, String, Struct, Uuid, message


@message(api_key=71, versions="0", flexible="0+")
class GetTelemetrySubscriptionsRequest(Struct):
    """The request of GetTelemetrySubscriptions."""

    client_instance_id: Uuid = ZERO_UUID


@message(api_key=71, versions="0", flexible="0+")
class GetTelemetrySubscriptionsResponse(Struct):
    """The response of GetTelemetrySubscriptions."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    client_instance_id: Uuid = ZERO_UUID
    subscription_id: Int32 = 0
    accepted_compression_types: list[Int8] = []
    push_interval_ms: Int32 = 0
    telemetry_max_bytes: Int32 = 0
    delta_temporality: Boolean = False
    requested_metrics: list[String] = []
