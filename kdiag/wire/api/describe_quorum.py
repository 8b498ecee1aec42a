"""Describes the KRaft quorum: leader, voters, observers and how far each has read.

API key 55, versions 0-2, flexible from 0.

Source: KIP-595, KIP-836 (v1), KIP-853 (v2).
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    BrokerId,
    Int16,
    Int32,
    Int64,
    String,
    Struct,
    TopicName,
    Uint16,
    Uuid,
    ignorable,
    message,
    since,
)


class PartitionData(Struct):
    """One element of `partitions` in TopicData."""

    partition_index: Int32 = 0


class TopicData(Struct):
    """One element of `topics` in DescribeQuorumRequest."""

    topic_name: TopicName = ""
    partitions: list[PartitionData] = []


@message(api_key=55, versions="0-2", flexible="0+")
class DescribeQuorumRequest(Struct):
    """The request of DescribeQuorum."""

    topics: list[TopicData] = []


class ReplicaState(Struct):
    """One element of `current_voters` in ResponsePartitionData."""

    replica_id: BrokerId = 0
    replica_directory_id: Annotated[Uuid, since("2+")] = ZERO_UUID
    log_end_offset: Int64 = 0
    last_fetch_timestamp: Annotated[Int64, since("1+"), ignorable] = -1
    last_caught_up_timestamp: Annotated[Int64, since("1+"), ignorable] = -1


class ResponsePartitionData(Struct):
    """One element of `partitions` in ResponseTopicData."""

    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: Annotated[String | None, since("2+"), ignorable] = ""
    leader_id: BrokerId = 0
    leader_epoch: Int32 = 0
    high_watermark: Int64 = 0
    current_voters: list[ReplicaState] = []
    observers: list[ReplicaState] = []


class ResponseTopicData(Struct):
    """One element of `topics` in DescribeQuorumResponse."""

    topic_name: TopicName = ""
    partitions: list[ResponsePartitionData] = []


class Listener(Struct):
    """One element of `listeners` in Node."""

    name: String = ""
    host: String = ""
    port: Uint16 = 0


class Node(Struct):
    """One element of `nodes` in DescribeQuorumResponse."""

    node_id: BrokerId = 0
    listeners: list[Listener] = []


@message(api_key=55, versions="0-2", flexible="0+")
class DescribeQuorumResponse(Struct):
    """The response of DescribeQuorum."""

    error_code: Int16 = 0
    error_message: Annotated[String | None, since("2+"), ignorable] = ""
    topics: list[ResponseTopicData] = []
    nodes: Annotated[list[Node], since("2+")] = []
