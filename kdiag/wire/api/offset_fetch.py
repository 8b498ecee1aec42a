"""Reads back the offsets that consumer groups committed.

API key 9, versions 0-10, flexible from 6. Today's Kafka speaks 1-10 only.

Source: KIP-320 (v5 leader epoch), KIP-447 (v7 stable offsets), KIP-709 (v8 many groups), KIP-848
(v9 member epoch, v10 topic ids).
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    Boolean,
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
    nullable,
    since,
)


class OffsetFetchRequestTopic(Struct):
    """One element of `topics` in OffsetFetchRequest."""

    name: TopicName = ""
    partition_indexes: list[Int32] = []


class OffsetFetchRequestTopics(Struct):
    """One element of `topics` in OffsetFetchRequestGroup."""

    name: Annotated[TopicName, since("8-9"), ignorable] = ""
    topic_id: Annotated[Uuid, since("10+"), ignorable] = ZERO_UUID
    partition_indexes: list[Int32] = []


class OffsetFetchRequestGroup(Struct):
    """One element of `groups` in OffsetFetchRequest."""

    group_id: GroupId = ""
    member_id: Annotated[String | None, since("9+"), ignorable] = None
    member_epoch: Annotated[Int32, since("9+"), ignorable] = -1
    topics: list[OffsetFetchRequestTopics] | None = []


@message(api_key=9, versions="0-10", flexible="6+")
class OffsetFetchRequest(Struct):
    """The request of OffsetFetch."""

    group_id: Annotated[GroupId, since("0-7")] = ""
    topics: Annotated[list[OffsetFetchRequestTopic] | None, since("0-7"), nullable("2-7")] = []
    groups: Annotated[list[OffsetFetchRequestGroup], since("8+")] = []
    require_stable: Annotated[Boolean, since("7+")] = False


class OffsetFetchResponsePartition(Struct):
    """One element of `partitions` in OffsetFetchResponseTopic."""

    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, since("5-7"), ignorable] = -1
    metadata: String | None = ""
    error_code: Int16 = 0


class OffsetFetchResponseTopic(Struct):
    """One element of `topics` in OffsetFetchResponse."""

    name: TopicName = ""
    partitions: list[OffsetFetchResponsePartition] = []


class OffsetFetchResponsePartitions(Struct):
    """One element of `partitions` in OffsetFetchResponseTopics."""

    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Int32 = -1
    metadata: String | None = ""
    error_code: Int16 = 0


class OffsetFetchResponseTopics(Struct):
    """One element of `topics` in OffsetFetchResponseGroup."""

    name: Annotated[TopicName, since("8-9"), ignorable] = ""
    topic_id: Annotated[Uuid, since("10+"), ignorable] = ZERO_UUID
    partitions: list[OffsetFetchResponsePartitions] = []


class OffsetFetchResponseGroup(Struct):
    """One element of `groups` in OffsetFetchResponse."""

    group_id: GroupId = ""
    topics: list[OffsetFetchResponseTopics] = []
    error_code: Int16 = 0


@message(api_key=9, versions="0-10", flexible="6+")
class OffsetFetchResponse(Struct):
    """The response of OffsetFetch."""

    throttle_time_ms: Annotated[Int32, since("3+"), ignorable] = 0
    topics: Annotated[list[OffsetFetchResponseTopic], since("0-7")] = []
    error_code: Annotated[Int16, since("2-7"), ignorable] = 0
    groups: Annotated[list[OffsetFetchResponseGroup], since("8+")] = []
