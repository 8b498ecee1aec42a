"""A resigning KRaft leader names who should stand for election next.

API key 54, versions 0-1, flexible from 1.

Source: KIP-595, KIP-853 (v1).
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    BrokerId,
    Int16,
    Int32,
    String,
    Struct,
    TopicName,
    Uint16,
    Uuid,
    ignorable,
    message,
    since,
    tag,
)


class ReplicaInfo(Struct):
    """One element of `preferred_candidates` in PartitionData."""

    candidate_id: BrokerId = 0
    candidate_directory_id: Uuid = ZERO_UUID


class PartitionData(Struct):
    """One element of `partitions` in TopicData."""

    partition_index: Int32 = 0
    leader_id: BrokerId = 0
    leader_epoch: Int32 = 0
    preferred_successors: Annotated[list[Int32], since("0"), ignorable] = []
    preferred_candidates: Annotated[list[ReplicaInfo], since("1+"), ignorable] = []


class TopicData(Struct):
    """One element of `topics` in EndQuorumEpochRequest."""

    topic_name: TopicName = ""
    partitions: list[PartitionData] = []


class LeaderEndpoint(Struct):
    """One element of `leader_endpoints` in EndQuorumEpochRequest."""

    name: String = ""
    host: String = ""
    port: Uint16 = 0


@message(api_key=54, versions="0-1", flexible="1+")
class EndQuorumEpochRequest(Struct):
    """The request of EndQuorumEpoch."""

    cluster_id: String | None = None
    topics: list[TopicData] = []
    leader_endpoints: Annotated[list[LeaderEndpoint], since("1+"), ignorable] = []


class ResponsePartitionData(Struct):
    """One element of `partitions` in ResponseTopicData."""

    partition_index: Int32 = 0
    error_code: Int16 = 0
    leader_id: BrokerId = 0
    leader_epoch: Int32 = 0


class ResponseTopicData(Struct):
    """One element of `topics` in EndQuorumEpochResponse."""

    topic_name: TopicName = ""
    partitions: list[ResponsePartitionData] = []


class NodeEndpoint(Struct):
    """One element of `node_endpoints` in EndQuorumEpochResponse."""

    node_id: BrokerId = 0
    host: String = ""
    port: Uint16 = 0


@message(api_key=54, versions="0-1", flexible="1+")
class EndQuorumEpochResponse(Struct):
    """The response of EndQuorumEpoch."""

    error_code: Int16 = 0
    topics: list[ResponseTopicData] = []
    node_endpoints: Annotated[list[NodeEndpoint], since("1+"), tag(0)] = []
