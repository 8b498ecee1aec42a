"""The assignment of a member of a classic consumer group, by the group's leader.

Versions 0-3, never flexible.
"""

from kdiag.wire.schema import Bytes, Int32, Struct, TopicName, message


class TopicPartition(Struct):
    """One element of `assigned_partitions` in ConsumerProtocolAssignment."""

    topic: TopicName = ""
    partitions: list[Int32] = []


@message(versions="0-3")
class ConsumerProtocolAssignment(Struct):
    """Kafka's ConsumerProtocolAssignment."""

    assigned_partitions: list[TopicPartition] = []
    user_data: Bytes | None = None
