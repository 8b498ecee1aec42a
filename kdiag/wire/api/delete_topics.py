"""Deletes topics by name or by topic id.

API key 20, versions 0-6, flexible from 4. Today's Kafka speaks 1-6 only.

Source: KIP-4, KIP-599 (v5 throttling), KIP-516 (v6 topic ids).
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    Int16,
    Int32,
    String,
    Struct,
    TopicName,
    Uuid,
    ignorable,
    message,
    nullable,
    since,
)


class DeleteTopicState(Struct):
    """One element of `topics` in DeleteTopicsRequest."""

    name: TopicName | None = None
    topic_id: Uuid = ZERO_UUID


@message(api_key=20, versions="0-6", flexible="4+")
class DeleteTopicsRequest(Struct):
    """The request of DeleteTopics."""

    topics: Annotated[list[DeleteTopicState], since("6+")] = []
    topic_names: Annotated[list[TopicName], since("0-5"), ignorable] = []
    timeout_ms: Int32 = 0


class DeletableTopicResult(Struct):
    """One element of `responses` in DeleteTopicsResponse."""

    name: Annotated[TopicName | None, nullable("6+")] = ""
    topic_id: Annotated[Uuid, since("6+"), ignorable] = ZERO_UUID
    error_code: Int16 = 0
    error_message: Annotated[String | None, since("5+"), ignorable] = None


@message(api_key=20, versions="0-6", flexible="4+")
class DeleteTopicsResponse(Struct):
    """The response of DeleteTopics."""

    throttle_time_ms: Annotated[Int32, since("1+"), ignorable] = 0
    responses: list[DeletableTopicResult] = []
