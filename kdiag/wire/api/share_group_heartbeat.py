"""The heartbeat of a share group: subscribes, and learns which partitions to read.

API key 76, versions 0-1, flexible from 0. Today's Kafka speaks 1 only.

Source: KIP-932.
"""

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
)


@message(api_key=76, versions="0-1", flexible="0+")
class ShareGroupHeartbeatRequest(Struct):
    """The request of ShareGroupHeartbeat."""

    group_id: GroupId = ""
    member_id: String = ""
    member_epoch: Int32 = 0
    rack_id: String | None = None
    subscribed_topic_names: list[TopicName] | None = None


class TopicPartitions(Struct):
    """One element of `topic_partitions` in Assignment."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[Int32] = []


class Assignment(Struct):
    """The value of `assignment` in ShareGroupHeartbeatResponse."""

    topic_partitions: list[TopicPartitions] = []


@message(api_key=76, versions="0-1", flexible="0+")
class ShareGroupHeartbeatResponse(Struct):
    """The response of ShareGroupHeartbeat."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
    member_id: String | None = None
    member_epoch: Int32 = 0
    heartbeat_interval_ms: Int32 = 0
    assignment: Assignment | None = None
