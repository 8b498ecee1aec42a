"""A broker registered: listeners, features, rack, log directories.

Record type 0 of `__cluster_metadata`, versions 0-4, flexible from 0.
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    Boolean,
    BrokerId,
    Int16,
    Int64,
    String,
    Struct,
    Uint16,
    Uuid,
    message,
    since,
    tag,
)


class BrokerEndpoint(Struct):
    """One element of `end_points` in RegisterBrokerRecord."""

    name: String = ""
    host: String = ""
    port: Uint16 = 0
    security_protocol: Int16 = 0


class BrokerFeature(Struct):
    """One element of `features` in RegisterBrokerRecord."""

    name: String = ""
    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


@message(versions="0-4", flexible="0+")
class RegisterBrokerRecord(Struct):
    """Kafka's RegisterBrokerRecord."""

    broker_id: BrokerId = 0
    is_migrating_zk_broker: Annotated[Boolean, since("2+")] = False
    incarnation_id: Uuid = ZERO_UUID
    broker_epoch: Int64 = 0
    end_points: list[BrokerEndpoint] = []
    features: list[BrokerFeature] = []
    rack: String | None = ""
    fenced: Boolean = True
    in_controlled_shutdown: Annotated[Boolean, since("1+")] = False
    log_dirs: Annotated[list[Uuid], since("3+"), tag(0)] = []
    cordoned_log_dirs: Annotated[list[Uuid] | None, since("4+"), tag(1)] = None
