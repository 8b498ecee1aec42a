"""Removes the registration of a broker that is gone for good.

API key 64, version 0, flexible from 0.

Source: KIP-631.
"""

from kdiag.wire.schema import BrokerId, Int16, Int32, String, Struct, message


@message(api_key=64, versions="0", flexible="0+")
class UnregisterBrokerRequest(Struct):
    """The request of UnregisterBroker."""

    broker_id: BrokerId = 0


@message(api_key=64, versions="0", flexible="0+")
class UnregisterBrokerResponse(Struct):
    """The response of UnregisterBroker."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = ""
