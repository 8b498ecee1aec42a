"""The heartbeat of the new consumer group protocol: subscribes, acknowledges, assigns.

API key 68, versions 0-1, flexible from 0.

Source: KIP-848 (v1 regular expressions), KIP-1082 (v1).
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    GroupId,
    Int16,
    Int32,
    String,
    Struct,
    TopicName,
    Uuid,
    message,
    since,
)


class TopicPartitions(Struct):
    """One element of `topic_partitions` in ConsumerGroupHeartbeatRequest."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[Int32] = []


@message(api_key=68, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatRequest(Struct):
    """The request of ConsumerGroupHeartbeat."""

    group_id: GroupId = ""
    member_id: String = ""
    member_epoch: Int32 = 0
    instance_id: String | None = None
    rack_id: String | None = None
    rebalance_timeout_ms: Int32 = -1
    subscribed_topic_names: list[TopicName] | None = None
    subscribed_topic_regex: Annotated[String | None, since("1+")] = None
    server_assignor: String | None = None
    topic_partitions: list[TopicPartitions] | None = None


class Assignment(Struct):
    """The value of `assignment` in ConsumerGroupHeartbeatResponse."""

    topic_partitions: list[TopicPartitions] = []


@message(api_key=68, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatResponse(Struct):
    """The response of ConsumerGroupHeartbeat."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
    member_id: String | None = None
    member_epoch: Int32 = 0
    heartbeat_interval_ms: Int32 = 0
    assignment: Assignment | None = None
