"""A feature's finalized level changed.

Record type 12 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import Int16, String, Struct, message


@message(versions="0", flexible="0+")
class FeatureLevelRecord(Struct):
    """Kafka's FeatureLevelRecord."""

    name: String = ""
    feature_level: Int16 = 0
