"""A share consumer acquires records of partitions and acknowledges earlier ones on the way.

API key 78, versions 0-2, flexible from 0. Today's Kafka speaks 1-2 only.

Source: KIP-932, KIP-1206 and KIP-1222 (v2).
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
    Records,
    String,
    Struct,
    Uuid,
    ignorable,
    message,
    nullable,
    since,
)


class AcknowledgementBatch(Struct):
    """One element of `acknowledgement_batches` in FetchPartition."""

    first_offset: Int64 = 0
    last_offset: Int64 = 0
    acknowledge_types: list[Int8] = []


class FetchPartition(Struct):
    """One element of `partitions` in FetchTopic."""

    partition_index: Int32 = 0
    partition_max_bytes: Annotated[Int32, since("0")] = 0
    acknowledgement_batches: list[AcknowledgementBatch] = []


class FetchTopic(Struct):
    """One element of `topics` in ShareFetchRequest."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[FetchPartition] = []


class ForgottenTopic(Struct):
    """One element of `forgotten_topics_data` in ShareFetchRequest."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[Int32] = []


@message(api_key=78, versions="0-2", flexible="0+")
class ShareFetchRequest(Struct):
    """The request of ShareFetch."""

    group_id: GroupId | None = None
    member_id: String | None = ""
    share_session_epoch: Int32 = 0
    max_wait_ms: Int32 = 0
    min_bytes: Int32 = 0
    max_bytes: Int32 = 2_147_483_647
    max_records: Annotated[Int32, since("1+")] = 0
    batch_size: Annotated[Int32, since("1+")] = 0
    share_acquire_mode: Annotated[Int8, since("2+"), ignorable] = 0
    is_renew_ack: Annotated[Boolean, since("2+")] = False
    topics: list[FetchTopic] = []
    forgotten_topics_data: list[ForgottenTopic] = []


class LeaderIdAndEpoch(Struct):
    """The value of `current_leader` in PartitionData."""

    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


class AcquiredRecords(Struct):
    """One element of `acquired_records` in PartitionData."""

    first_offset: Int64 = 0
    last_offset: Int64 = 0
    delivery_count: Int16 = 0


class PartitionData(Struct):
    """One element of `partitions` in ShareFetchableTopicResponse."""

    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
    acknowledge_error_code: Int16 = 0
    acknowledge_error_message: String | None = None
    current_leader: LeaderIdAndEpoch = msgspec.field(default_factory=LeaderIdAndEpoch)
    records: Annotated[Records | None, nullable("0")] = None
    acquired_records: list[AcquiredRecords] = []


class ShareFetchableTopicResponse(Struct):
    """One element of `responses` in ShareFetchResponse."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = []


class NodeEndpoint(Struct):
    """One element of `node_endpoints` in ShareFetchResponse."""

    node_id: BrokerId = 0
    host: String = ""
    port: Int32 = 0
    rack: String | None = None


@message(api_key=78, versions="0-2", flexible="0+")
class ShareFetchResponse(Struct):
    """The response of ShareFetch."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
    acquisition_lock_timeout_ms: Annotated[Int32, since("1+")] = 0
    responses: list[ShareFetchableTopicResponse] = []
    node_endpoints: list[NodeEndpoint] = []
