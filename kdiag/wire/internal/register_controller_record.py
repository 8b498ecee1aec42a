"""A controller registered: listeners and features.

Record type 27 of `__cluster_metadata`, version 0, flexible from 0.
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


class ControllerEndpoint(Struct):
    """One element of `end_points` in RegisterControllerRecord."""

    name: String = ""
    host: String = ""
    port: Uint16 = 0
    security_protocol: Int16 = 0


class ControllerFeature(Struct):
    """One element of `features` in RegisterControllerRecord."""

    name: String = ""
    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


@message(versions="0", flexible="0+")
class RegisterControllerRecord(Struct):
    """Kafka's RegisterControllerRecord."""

    controller_id: Int32 = 0
    incarnation_id: Uuid = ZERO_UUID
    zk_migration_ready: Boolean = False
    end_points: list[ControllerEndpoint] = []
    features: list[ControllerFeature] = []
