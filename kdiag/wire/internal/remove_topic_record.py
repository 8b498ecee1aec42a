"""A topic was deleted.

Record type 9 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import ZERO_UUID, Struct, Uuid, message


@message(versions="0", flexible="0+")
class RemoveTopicRecord(Struct):
    """Kafka's RemoveTopicRecord."""

    topic_id: Uuid = ZERO_UUID
