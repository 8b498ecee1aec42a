"""Finds where a leader epoch ends, so that a replica or a consumer can detect truncation.

API key 23, versions 0-4, flexible from 4. Today's Kafka speaks 2-4 only.

Source: KIP-101, KIP-279 (v1), KIP-320 (v2).
"""

from typing import Annotated

from kdiag.wire.schema import (
    BrokerId,
    Int16,
    Int32,
    Int64,
    Struct,
    TopicName,
    ignorable,
    message,
    since,
)


class OffsetForLeaderPartition(Struct):
    """One element of `partitions` in OffsetForLeaderTopic."""

    partition: Int32 = 0
    current_leader_epoch: Annotated[Int32, since("2+"), ignorable] = -1
    leader_epoch: Int32 = 0


class OffsetForLeaderTopic(Struct):
    """One element of `topics` in OffsetForLeaderEpochRequest."""

    topic: TopicName = ""
    partitions: list[OffsetForLeaderPartition] = []


@message(api_key=23, versions="0-4", flexible="4+")
class OffsetForLeaderEpochRequest(Struct):
    """The request of OffsetForLeaderEpoch."""

    replica_id: Annotated[BrokerId, since("3+"), ignorable] = -2
    topics: list[OffsetForLeaderTopic] = []


class EpochEndOffset(Struct):
    """One element of `partitions` in OffsetForLeaderTopicResult."""

    error_code: Int16 = 0
    partition: Int32 = 0
    leader_epoch: Annotated[Int32, since("1+"), ignorable] = -1
    end_offset: Int64 = -1


class OffsetForLeaderTopicResult(Struct):
    """One element of `topics` in OffsetForLeaderEpochResponse."""

    topic: TopicName = ""
    partitions: list[EpochEndOffset] = []


@message(api_key=23, versions="0-4", flexible="4+")
class OffsetForLeaderEpochResponse(Struct):
    """The response of OffsetForLeaderEpoch."""

    throttle_time_ms: Annotated[Int32, since("2+"), ignorable] = 0
    topics: list[OffsetForLeaderTopicResult] = []
