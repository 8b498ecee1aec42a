"""The subscription of a member of a classic consumer group.

Versions 0-3, never flexible.
"""

from typing import Annotated

from kdiag.wire.schema import Bytes, Int32, String, Struct, TopicName, ignorable, message, since


class TopicPartition(Struct):
    """One element of `owned_partitions` in ConsumerProtocolSubscription."""

    topic: TopicName = ""
    partitions: list[Int32] = []


@message(versions="0-3")
class ConsumerProtocolSubscription(Struct):
    """Kafka's ConsumerProtocolSubscription."""

    topics: list[String] = []
    user_data: Bytes | None = None
    owned_partitions: Annotated[list[TopicPartition], since("1+"), ignorable] = []
    generation_id: Annotated[Int32, since("2+"), ignorable] = -1
    rack_id: Annotated[String | None, since("3+"), ignorable] = None
