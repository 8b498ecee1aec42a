"""A starting KRaft controller registers with the active one: listeners and features.

API key 70, version 0, flexible from 0.

Source: KIP-919.
"""

from kdiag.wire.schema import (
    ZERO_UUID,
    Boolean,
    Int16,
    Int32,
    String,
    Struct,
    Uint16,
    Uuid,
    message,
)


class Listener(Struct):
    """One element of `listeners` in ControllerRegistrationRequest."""

    name: String = ""
    host: String = ""
    port: Uint16 = 0
    security_protocol: Int16 = 0


class Feature(Struct):
    """One element of `features` in ControllerRegistrationRequest."""

    name: String = ""
    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


@message(api_key=70, versions="0", flexible="0+")
class ControllerRegistrationRequest(Struct):
    """The request of ControllerRegistration."""

    controller_id: Int32 = 0
    incarnation_id: Uuid = ZERO_UUID
    zk_migration_ready: Boolean = False
    listeners: list[Listener] = []
    features: list[Feature] = []


@message(api_key=70, versions="0", flexible="0+")
class ControllerRegistrationResponse(Struct):
    """The response of ControllerRegistration."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = ""
