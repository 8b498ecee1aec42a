"""An access control entry was added.

Record type 18 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import ZERO_UUID, Int8, String, Struct, Uuid, message


@message(versions="0", flexible="0+")
class AccessControlEntryRecord(Struct):
    """Kafka's AccessControlEntryRecord."""

    id: Uuid = ZERO_UUID
    resource_type: Int8 = 0
    resource_name: String = ""
    pattern_type: Int8 = 0
    principal: String = ""
    host: String = ""
    operation: Int8 = 0
    permission_type: Int8 = 0
