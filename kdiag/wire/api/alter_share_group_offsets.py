"""Sets where an empty share group starts in partitions.

API key 91, version 0, flexible from 0.

Source: KIP-932.
"""

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
    message,
)


class AlterShareGroupOffsetsRequestPartition(Struct):
    """One element of `partitions` in AlterShareGroupOffsetsRequestTopic."""

    partition_index: Int32 = 0
    start_offset: Int64 = 0


class AlterShareGroupOffsetsRequestTopic(Struct):
    """One element of `topics` in AlterShareGroupOffsetsRequest."""

    topic_name: TopicName = ""
    partitions: list[AlterShareGroupOffsetsRequestPartition] = []


@message(api_key=91, versions="0", flexible="0+")
class AlterShareGroupOffsetsRequest(Struct):
    """The request of AlterShareGroupOffsets."""

    group_id: GroupId = ""
    topics: list[AlterShareGroupOffsetsRequestTopic] = []


class AlterShareGroupOffsetsResponsePartition(Struct):
    """One element of `partitions` in AlterShareGroupOffsetsResponseTopic."""

    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None


class AlterShareGroupOffsetsResponseTopic(Struct):
    """One element of `responses` in AlterShareGroupOffsetsResponse."""

    topic_name: TopicName = ""
    topic_id: Uuid = ZERO_UUID
    partitions: list[AlterShareGroupOffsetsResponsePartition] = []


@message(api_key=91, versions="0", flexible="0+")
class AlterShareGroupOffsetsResponse(Struct):
    """The response of AlterShareGroupOffsets."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
    responses: list[AlterShareGroupOffsetsResponseTopic] = []
