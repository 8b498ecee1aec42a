"""A replica of the KRaft quorum asks for votes, or in a pre-vote whether it would win.

API key 52, versions 0-2, flexible from 0.

Source: KIP-595, KIP-853 (v1), KIP-996 (v2 pre-vote).
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    Boolean,
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
    tag,
)


class PartitionData(Struct):
    """One element of `partitions` in TopicData."""

    partition_index: Int32 = 0
    replica_epoch: Int32 = 0
    replica_id: BrokerId = 0
    replica_directory_id: Annotated[Uuid, since("1+"), ignorable] = ZERO_UUID
    voter_directory_id: Annotated[Uuid, since("1+"), ignorable] = ZERO_UUID
    last_offset_epoch: Int32 = 0
    last_offset: Int64 = 0
    pre_vote: Annotated[Boolean, since("2+")] = False


class TopicData(Struct):
    """One element of `topics` in VoteRequest."""

    topic_name: TopicName = ""
    partitions: list[PartitionData] = []


@message(api_key=52, versions="0-2", flexible="0+")
class VoteRequest(Struct):
    """The request of Vote."""

    cluster_id: String | None = None
    voter_id: Annotated[BrokerId, since("1+"), ignorable] = -1
    topics: list[TopicData] = []


class ResponsePartitionData(Struct):
    """One element of `partitions` in ResponseTopicData."""

    partition_index: Int32 = 0
    error_code: Int16 = 0
    leader_id: BrokerId = 0
    leader_epoch: Int32 = 0
    vote_granted: Boolean = False


class ResponseTopicData(Struct):
    """One element of `topics` in VoteResponse."""

    topic_name: TopicName = ""
    partitions: list[ResponsePartitionData] = []


class NodeEndpoint(Struct):
    """One element of `node_endpoints` in VoteResponse."""

    node_id: BrokerId = 0
    host: String = ""
    port: Uint16 = 0


@message(api_key=52, versions="0-2", flexible="0+")
class VoteResponse(Struct):
    """The response of Vote."""

    error_code: Int16 = 0
    topics: list[ResponseTopicData] = []
    node_endpoints: Annotated[list[NodeEndpoint], since("1+"), tag(0)] = []
