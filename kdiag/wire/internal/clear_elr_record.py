"""The eligible leader replicas of topics were forgotten.

Record type 28 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import Struct, TopicName, message


@message(versions="0", flexible="0+")
class ClearElrRecord(Struct):
    """Kafka's ClearElrRecord."""

    topic_name: TopicName = ""
