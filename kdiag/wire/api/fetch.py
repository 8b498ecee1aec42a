"""Consumers and followers read record batches from partitions, from given offsets on.

API key 1, versions 0-18, flexible from 12. Today's Kafka speaks 4-18 only.

Source: KIP-74 (v3 size limit), KIP-98 (v4 isolation level), KIP-227 (v7 sessions), KIP-110 (v10
zstd), KIP-392 (v11 nearest replica), KIP-595 (v12), KIP-516 (v13 topic ids), KIP-405 (v14), KIP-903
(v15), KIP-951 (v16 new leader), KIP-853 (v17), KIP-1166 (v18).
"""

from typing import Annotated

import msgspec

from kdiag.wire.schema import (
    ZERO_UUID,
    BrokerId,
    Int8,
    Int16,
    Int32,
    Int64,
    ProducerId,
    Records,
    String,
    Struct,
    TopicName,
    Uuid,
    ignorable,
    message,
    since,
    tag,
)


class ReplicaState(Struct):
    """The value of `replica_state` in FetchRequest."""

    replica_id: BrokerId = -1
    replica_epoch: Int64 = -1


class FetchPartition(Struct):
    """One element of `partitions` in FetchTopic."""

    partition: Int32 = 0
    current_leader_epoch: Annotated[Int32, since("9+"), ignorable] = -1
    fetch_offset: Int64 = 0
    last_fetched_epoch: Annotated[Int32, since("12+")] = -1
    log_start_offset: Annotated[Int64, since("5+"), ignorable] = -1
    partition_max_bytes: Int32 = 0
    replica_directory_id: Annotated[Uuid, since("17+"), tag(0), ignorable] = ZERO_UUID
    high_watermark: Annotated[Int64, since("18+"), tag(1), ignorable] = 9_223_372_036_854_775_807


class FetchTopic(Struct):
    """One element of `topics` in FetchRequest."""

    topic: Annotated[TopicName, since("0-12"), ignorable] = ""
    topic_id: Annotated[Uuid, since("13+"), ignorable] = ZERO_UUID
    partitions: list[FetchPartition] = []


class ForgottenTopic(Struct):
    """One element of `forgotten_topics_data` in FetchRequest."""

    topic: Annotated[TopicName, since("7-12"), ignorable] = ""
    topic_id: Annotated[Uuid, since("13+"), ignorable] = ZERO_UUID
    partitions: list[Int32] = []


@message(api_key=1, versions="0-18", flexible="12+")
class FetchRequest(Struct):
    """The request of Fetch."""

    cluster_id: Annotated[String | None, since("12+"), tag(0), ignorable] = None
    replica_id: Annotated[BrokerId, since("0-14")] = -1
    replica_state: Annotated[ReplicaState, since("15+"), tag(1)] = msgspec.field(
        default_factory=ReplicaState
    )
    max_wait_ms: Int32 = 0
    min_bytes: Int32 = 0
    max_bytes: Annotated[Int32, since("3+"), ignorable] = 2_147_483_647
    isolation_level: Annotated[Int8, since("4+"), ignorable] = 0
    session_id: Annotated[Int32, since("7+"), ignorable] = 0
    session_epoch: Annotated[Int32, since("7+"), ignorable] = -1
    topics: list[FetchTopic] = []
    forgotten_topics_data: Annotated[list[ForgottenTopic], since("7+")] = []
    rack_id: Annotated[String, since("11+"), ignorable] = ""


class EpochEndOffset(Struct):
    """The value of `diverging_epoch` in PartitionData."""

    epoch: Int32 = -1
    end_offset: Int64 = -1


class LeaderIdAndEpoch(Struct):
    """The value of `current_leader` in PartitionData."""

    leader_id: BrokerId = -1
    leader_epoch: Int32 = -1


class SnapshotId(Struct):
    """The value of `snapshot_id` in PartitionData."""

    end_offset: Int64 = -1
    epoch: Int32 = -1


class AbortedTransaction(Struct):
    """One element of `aborted_transactions` in PartitionData."""

    producer_id: ProducerId = 0
    first_offset: Int64 = 0


class PartitionData(Struct):
    """One element of `partitions` in FetchableTopicResponse."""

    partition_index: Int32 = 0
    error_code: Int16 = 0
    high_watermark: Int64 = 0
    last_stable_offset: Annotated[Int64, since("4+"), ignorable] = -1
    log_start_offset: Annotated[Int64, since("5+"), ignorable] = -1
    diverging_epoch: Annotated[EpochEndOffset, since("12+"), tag(0)] = msgspec.field(
        default_factory=EpochEndOffset
    )
    current_leader: Annotated[LeaderIdAndEpoch, since("12+"), tag(1)] = msgspec.field(
        default_factory=LeaderIdAndEpoch
    )
    snapshot_id: Annotated[SnapshotId, since("12+"), tag(2)] = msgspec.field(
        default_factory=SnapshotId
    )
    aborted_transactions: Annotated[list[AbortedTransaction] | None, since("4+"), ignorable] = []
    preferred_read_replica: Annotated[BrokerId, since("11+")] = -1
    records: Records | None = None


class FetchableTopicResponse(Struct):
    """One element of `responses` in FetchResponse."""

    topic: Annotated[TopicName, since("0-12"), ignorable] = ""
    topic_id: Annotated[Uuid, since("13+"), ignorable] = ZERO_UUID
    partitions: list[PartitionData] = []


class NodeEndpoint(Struct):
    """One element of `node_endpoints` in FetchResponse."""

    node_id: BrokerId = 0
    host: String = ""
    port: Int32 = 0
    rack: String | None = None


@message(api_key=1, versions="0-18", flexible="12+")
class FetchResponse(Struct):
    """The response of Fetch."""

    throttle_time_ms: Annotated[Int32, since("1+"), ignorable] = 0
    error_code: Annotated[Int16, since("7+"), ignorable] = 0
    session_id: Annotated[Int32, since("7+")] = 0
    responses: list[FetchableTopicResponse] = []
    node_endpoints: Annotated[list[NodeEndpoint], since("16+"), tag(0)] = []
