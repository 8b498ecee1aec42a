"""Finds the offset of a timestamp, or the earliest, latest or tiered offset, of partitions.

API key 2, versions 0-11, flexible from 6. Today's Kafka speaks 1-11 only.

Source: KIP-79 (v1 timestamps), KIP-98 (v2 isolation level), KIP-320 (v4 leader epoch), KIP-734 (v7
max timestamp), KIP-405 (v8), KIP-1005 (v9), KIP-1075 (v10), KIP-1023 (v11).
"""

from typing import Annotated

from kdiag.wire.schema import (
    BrokerId,
    Int8,
    Int16,
    Int32,
    Int64,
    Struct,
    TopicName,
    ignorable,
    message,
    since,
)


class ListOffsetsPartition(Struct):
    """One element of `partitions` in ListOffsetsTopic."""

    partition_index: Int32 = 0
    current_leader_epoch: Annotated[Int32, since("4+"), ignorable] = -1
    timestamp: Int64 = 0
    max_num_offsets: Annotated[Int32, since("0")] = 1


class ListOffsetsTopic(Struct):
    """One element of `topics` in ListOffsetsRequest."""

    name: TopicName = ""
    partitions: list[ListOffsetsPartition] = []


@message(api_key=2, versions="0-11", flexible="6+")
class ListOffsetsRequest(Struct):
    """The request of ListOffsets."""

    replica_id: BrokerId = 0
    isolation_level: Annotated[Int8, since("2+")] = 0
    topics: list[ListOffsetsTopic] = []
    timeout_ms: Annotated[Int32, since("10+"), ignorable] = 0


class ListOffsetsPartitionResponse(Struct):
    """One element of `partitions` in ListOffsetsTopicResponse."""

    partition_index: Int32 = 0
    error_code: Int16 = 0
    old_style_offsets: Annotated[list[Int64], since("0")] = []
    timestamp: Annotated[Int64, since("1+")] = -1
    offset: Annotated[Int64, since("1+")] = -1
    leader_epoch: Annotated[Int32, since("4+")] = -1


class ListOffsetsTopicResponse(Struct):
    """One element of `topics` in ListOffsetsResponse."""

    name: TopicName = ""
    partitions: list[ListOffsetsPartitionResponse] = []


@message(api_key=2, versions="0-11", flexible="6+")
class ListOffsetsResponse(Struct):
    """The response of ListOffsets."""

    throttle_time_ms: Annotated[Int32, since("2+"), ignorable] = 0
    topics: list[ListOffsetsTopicResponse] = []
