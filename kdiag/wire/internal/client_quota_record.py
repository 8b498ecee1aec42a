"""A client quota was set or removed.

Record type 14 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import Boolean, Float64, String, Struct, message


class EntityData(Struct):
    """One element of `entity` in ClientQuotaRecord."""

    entity_type: String = ""
    entity_name: String | None = ""


@message(versions="0", flexible="0+")
class ClientQuotaRecord(Struct):
    """Kafka's ClientQuotaRecord."""

    entity: list[EntityData] = []
    key: String = ""
    value: Float64 = 0.0
    remove: Boolean = False
