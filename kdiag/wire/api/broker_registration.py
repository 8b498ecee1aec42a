"""A starting broker registers with the controller: listeners, features and log directories.

API key 62, versions 0-4, flexible from 0.

Source: KIP-631, KIP-858 (v2 log directories), KIP-966 (v3).
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    Boolean,
    BrokerId,
    Int16,
    Int32,
    Int64,
    String,
    Struct,
    Uint16,
    Uuid,
    ignorable,
    message,
    since,
)


class Listener(Struct):
    """One element of `listeners` in BrokerRegistrationRequest."""

    name: String = ""
    host: String = ""
    port: Uint16 = 0
    security_protocol: Int16 = 0


class Feature(Struct):
    """One element of `features` in BrokerRegistrationRequest."""

    name: String = ""
    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


@message(api_key=62, versions="0-4", flexible="0+")
class BrokerRegistrationRequest(Struct):
    """The request of BrokerRegistration."""

    broker_id: BrokerId = 0
    cluster_id: String = ""
    incarnation_id: Uuid = ZERO_UUID
    listeners: list[Listener] = []
    features: list[Feature] = []
    rack: String | None = ""
    is_migrating_zk_broker: Annotated[Boolean, since("1+")] = False
    log_dirs: Annotated[list[Uuid], since("2+"), ignorable] = []
    previous_broker_epoch: Annotated[Int64, since("3+"), ignorable] = -1


@message(api_key=62, versions="0-4", flexible="0+")
class BrokerRegistrationResponse(Struct):
    """The response of BrokerRegistration."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    broker_epoch: Int64 = -1
