"""A new KRaft leader tells the other voters that it leads this epoch.

API key 53, versions 0-1, flexible from 1.

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


class PartitionData(Struct):
    """One element of `partitions` in TopicData."""

    partition_index: Int32 = 0
    voter_directory_id: Annotated[Uuid, since("1+"), ignorable] = ZERO_UUID
    leader_id: BrokerId = 0
    leader_epoch: Int32 = 0


class TopicData(Struct):
    """One element of `topics` in BeginQuorumEpochRequest."""

    topic_name: TopicName = ""
    partitions: list[PartitionData] = []


class LeaderEndpoint(Struct):
    """One element of `leader_endpoints` in BeginQuorumEpochRequest."""

    name: String = ""
    host: String = ""
    port: Uint16 = 0


@message(api_key=53, versions="0-1", flexible="1+")
class BeginQuorumEpochRequest(Struct):
    """The request of BeginQuorumEpoch."""

    cluster_id: String | None = None
    voter_id: Annotated[BrokerId, since("1+"), ignorable] = -1
    topics: list[TopicData] = []
    leader_endpoints: Annotated[list[LeaderEndpoint], since("1+"), ignorable] = []


class ResponsePartitionData(Struct):
    """One element of `partitions` in ResponseTopicData."""

    partition_index: Int32 = 0
    error_code: Int16 = 0
    leader_id: BrokerId = 0
    leader_epoch: Int32 = 0


class ResponseTopicData(Struct):
    """One element of `topics` in BeginQuorumEpochResponse."""

    topic_name: TopicName = ""
    partitions: list[ResponsePartitionData] = []


class NodeEndpoint(Struct):
    """One element of `node_endpoints` in BeginQuorumEpochResponse."""

    node_id: BrokerId = 0
    host: String = ""
    port: Uint16 = 0


@message(api_key=53, versions="0-1", flexible="1+")
class BeginQuorumEpochResponse(Struct):
    """The response of BeginQuorumEpoch."""

    error_code: Int16 = 0
    topics: list[ResponseTopicData] = []
    node_endpoints: Annotated[list[NodeEndpoint], since("1+"), tag(0)] = []
