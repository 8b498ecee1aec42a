"""A configuration entry was set or, with a null value, removed.

Record type 4 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import Int8, String, Struct, message


@message(versions="0", flexible="0+")
class ConfigRecord(Struct):
    """Kafka's ConfigRecord."""

    resource_type: Int8 = 0
    resource_name: String = ""
    name: String = ""
    value: String | None = ""
