"""A topic was created.

Record type 2 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import ZERO_UUID, Struct, TopicName, Uuid, message


@message(versions="0", flexible="0+")
class TopicRecord(Struct):
    """Kafka's TopicRecord."""

    name: TopicName = ""
    topic_id: Uuid = ZERO_UUID
