"""Reads where share groups start in partitions, and how far they lag.

API key 90, versions 0-1, flexible from 0.

Source: KIP-932, KIP-1226 (v1 lag).
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


class DescribeShareGroupOffsetsRequestTopic(Struct):
    """One element of `topics` in DescribeShareGroupOffsetsRequestGroup."""

    topic_name: TopicName = ""
    partitions: list[Int32] = []


class DescribeShareGroupOffsetsRequestGroup(Struct):
    """One element of `groups` in DescribeShareGroupOffsetsRequest."""

    group_id: GroupId = ""
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = []


@message(api_key=90, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsRequest(Struct):
    """The request of DescribeShareGroupOffsets."""

    groups: list[DescribeShareGroupOffsetsRequestGroup] = []


class DescribeShareGroupOffsetsResponsePartition(Struct):
    """One element of `partitions` in DescribeShareGroupOffsetsResponseTopic."""

    partition_index: Int32 = 0
    start_offset: Int64 = 0
    leader_epoch: Int32 = 0
    lag: Annotated[Int64, since("1+"), ignorable] = -1
    error_code: Int16 = 0
    error_message: String | None = None


class DescribeShareGroupOffsetsResponseTopic(Struct):
    """One element of `topics` in DescribeShareGroupOffsetsResponseGroup."""

    topic_name: TopicName = ""
    topic_id: Uuid = ZERO_UUID
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = []


class DescribeShareGroupOffsetsResponseGroup(Struct):
    """One element of `groups` in DescribeShareGroupOffsetsResponse."""

    group_id: GroupId = ""
    topics: list[DescribeShareGroupOffsetsResponseTopic] = []
    error_code: Int16 = 0
    error_message: String | None = None


@message(api_key=90, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsResponse(Struct):
    """The response of DescribeShareGroupOffsets."""

    throttle_time_ms: Int32 = 0
    groups: list[DescribeShareGroupOffsetsResponseGroup] = []
