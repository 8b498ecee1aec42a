"""A share consumer accepts, releases or rejects records that it acquired.

API key 79, versions 0-2, flexible from 0. Today's Kafka speaks 1-2 only.

Source: KIP-932, KIP-1222 (v2).
"""

from typing import Annotated

import msgspec

from kdiag.wire.schema import (
    ZERO_UUID,
    Boolean,
    BrokerId,
    GroupId,
    Int8,
    Int16,
    Int32,
    Int64,
    String,
    Struct,
    Uuid,
    ignorable,
    message,
    since,
)


class AcknowledgementBatch(Struct):
    """One element of `acknowledgement_batches` in AcknowledgePartition."""

    first_offset: Int64 = 0
    last_offset: Int64 = 0
    acknowledge_types: list[Int8] = []


class AcknowledgePartition(Struct):
    """One element of `partitions` in AcknowledgeTopic."""

    partition_index: Int32 = 0
    acknowledgement_batches: list[AcknowledgementBatch] = []


class AcknowledgeTopic(Struct):
    """One element of `topics` in ShareAcknowledgeRequest."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[AcknowledgePartition] = []


@message(api_key=79, versions="0-2", flexible="0+")
class ShareAcknowledgeRequest(Struct):
    """The request of ShareAcknowledge."""

    group_id: GroupId | None = None
    member_id: String | None = ""
    share_session_epoch: Int32 = 0
    is_renew_ack: Annotated[Boolean, since("2+")] = False
    topics: list[AcknowledgeTopic] = []


class LeaderIdAndEpoch(Struct):
    """The value of `current_leader` in PartitionData."""

    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


class PartitionData(Struct):
    """One element of `partitions` in ShareAcknowledgeTopicResponse."""

    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
    current_leader: LeaderIdAndEpoch = msgspec.field(default_factory=LeaderIdAndEpoch)


class ShareAcknowledgeTopicResponse(Struct):
    """One element of `responses` in ShareAcknowledgeResponse."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = []


class NodeEndpoint(Struct):
    """One element of `node_endpoints` in ShareAcknowledgeResponse."""

    node_id: BrokerId = 0
    host: String = ""
    port: Int32 = 0
    rack: String | None = None


@message(api_key=79, versions="0-2", flexible="0+")
class ShareAcknowledgeResponse(Struct):
    """The response of ShareAcknowledge."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
    acquisition_lock_timeout_ms: Annotated[Int32, since("2+"), ignorable] = 0
    responses: list[ShareAcknowledgeTopicResponse] = []
    node_endpoints: list[NodeEndpoint] = []
