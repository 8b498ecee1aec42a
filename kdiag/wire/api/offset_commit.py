"""Stores how far a consumer group has read, as offsets of partitions.

API key 8, versions 0-10, flexible from 8. Today's Kafka speaks 2-10 only.

Source: KIP-211 (v5), KIP-320 (v6 leader epoch), KIP-345 (v7 static members), KIP-848 (v9 member
epoch, v10 topic ids).
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    GroupId,
    Int16,
    Int32,
    Int64,
    String,
    Struct,
    TopicName,
    Uuid,
    ignorable,
    message,
    since,
)


class OffsetCommitRequestPartition(Struct):
    """One element of `partitions` in OffsetCommitRequestTopic."""

    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, since("6+"), ignorable] = -1
    commit_timestamp: Annotated[Int64, since("1")] = -1
    committed_metadata: String | None = ""


class OffsetCommitRequestTopic(Struct):
    """One element of `topics` in OffsetCommitRequest."""

    name: Annotated[TopicName, since("0-9"), ignorable] = ""
    topic_id: Annotated[Uuid, since("10+"), ignorable] = ZERO_UUID
    partitions: list[OffsetCommitRequestPartition] = []


@message(api_key=8, versions="0-10", flexible="8+")
class OffsetCommitRequest(Struct):
    """The request of OffsetCommit."""

    group_id: GroupId = ""
    generation_id_or_member_epoch: Annotated[Int32, since("1+"), ignorable] = -1
    member_id: Annotated[String, since("1+"), ignorable] = ""
    group_instance_id: Annotated[String | None, since("7+")] = None
    retention_time_ms: Annotated[Int64, since("2-4"), ignorable] = -1
    topics: list[OffsetCommitRequestTopic] = []


class OffsetCommitResponsePartition(Struct):
    """One element of `partitions` in OffsetCommitResponseTopic."""

    partition_index: Int32 = 0
    error_code: Int16 = 0


class OffsetCommitResponseTopic(Struct):
    """One element of `topics` in OffsetCommitResponse."""

    name: Annotated[TopicName, since("0-9"), ignorable] = ""
    topic_id: Annotated[Uuid, since("10+"), ignorable] = ZERO_UUID
    partitions: list[OffsetCommitResponsePartition] = []


@message(api_key=8, versions="0-10", flexible="8+")
class OffsetCommitResponse(Struct):
    """The response of OffsetCommit."""

    throttle_time_ms: Annotated[Int32, since("3+"), ignorable] = 0
    topics: list[OffsetCommitResponseTopic] = []
