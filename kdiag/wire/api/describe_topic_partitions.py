"""Describes topics page by page, with eligible leader replicas.

API key 75, version 0, flexible from 0.

Source: KIP-966.
"""

from kdiag.wire.schema import (
    ZERO_UUID,
    Boolean,
    BrokerId,
    Int16,
    Int32,
    Struct,
    TopicName,
    Uuid,
    message,
)


class TopicRequest(Struct):
    """One element of `topics` in DescribeTopicPartitionsRequest."""

    name: TopicName = ""


class Cursor(Struct):
    """The value of `cursor` in DescribeTopicPartitionsRequest."""

    topic_name: TopicName = ""
    partition_index: Int32 = 0


@message(api_key=75, versions="0", flexible="0+")
class DescribeTopicPartitionsRequest(Struct):
    """The request of DescribeTopicPartitions."""

    topics: list[TopicRequest] = []
    response_partition_limit: Int32 = 2_000
    cursor: Cursor | None = None


class DescribeTopicPartitionsResponsePartition(Struct):
    """One element of `partitions` in DescribeTopicPartitionsResponseTopic."""

    error_code: Int16 = 0
    partition_index: Int32 = 0
    leader_id: BrokerId = 0
    leader_epoch: Int32 = -1
    replica_nodes: list[BrokerId] = []
    isr_nodes: list[BrokerId] = []
    eligible_leader_replicas: list[BrokerId] | None = None
    last_known_elr: list[BrokerId] | None = None
    offline_replicas: list[BrokerId] = []


class DescribeTopicPartitionsResponseTopic(Struct):
    """One element of `topics` in DescribeTopicPartitionsResponse."""

    error_code: Int16 = 0
    name: TopicName | None = ""
    topic_id: Uuid = ZERO_UUID
    is_internal: Boolean = False
    partitions: list[DescribeTopicPartitionsResponsePartition] = []
    topic_authorized_operations: Int32 = -2_147_483_648


@message(api_key=75, versions="0", flexible="0+")
class DescribeTopicPartitionsResponse(Struct):
    """The response of DescribeTopicPartitions."""

    throttle_time_ms: Int32 = 0
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    next_cursor: Cursor | None = None
