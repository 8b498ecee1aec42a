"""Deletes the offsets of an empty share group for topics.

API key 92, version 0, flexible from 0.

Source: KIP-932.
"""

from kdiag.wire.schema import (
    ZERO_UUID,
    GroupId,
    Int16,
    Int32,
    String,
    Struct,
    TopicName,
    Uuid,
    message,
)


class DeleteShareGroupOffsetsRequestTopic(Struct):
    """One element of `topics` in DeleteShareGroupOffsetsRequest."""

    topic_name: TopicName = ""


@message(api_key=92, versions="0", flexible="0+")
class DeleteShareGroupOffsetsRequest(Struct):
    """The request of DeleteShareGroupOffsets."""

    group_id: GroupId = ""
    topics: list[DeleteShareGroupOffsetsRequestTopic] = []


class DeleteShareGroupOffsetsResponseTopic(Struct):
    """One element of `responses` in DeleteShareGroupOffsetsResponse."""

    topic_name: TopicName = ""
    topic_id: Uuid = ZERO_UUID
    error_code: Int16 = 0
    error_message: String | None = None


@message(api_key=92, versions="0", flexible="0+")
class DeleteShareGroupOffsetsResponse(Struct):
    """The response of DeleteShareGroupOffsets."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
    responses: list[DeleteShareGroupOffsetsResponseTopic] = []
