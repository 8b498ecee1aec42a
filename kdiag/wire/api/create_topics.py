"""Creates topics, or checks whether they could be created.

API key 19, versions 0-7, flexible from 5. Today's Kafka speaks 2-7 only.

Source: KIP-4, KIP-464 (v4), KIP-525 (v5 configs), KIP-599 (v6 throttling), KIP-516 (v7 topic id).
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    Boolean,
    BrokerId,
    Int8,
    Int16,
    Int32,
    String,
    Struct,
    TopicName,
    Uuid,
    ignorable,
    message,
    since,
    tag,
)


class CreatableReplicaAssignment(Struct):
    """One element of `assignments` in CreatableTopic."""

    partition_index: Int32 = 0
    broker_ids: list[BrokerId] = []


class CreatableTopicConfig(Struct):
    """One element of `configs` in CreatableTopic."""

    name: String = ""
    value: String | None = ""


class CreatableTopic(Struct):
    """One element of `topics` in CreateTopicsRequest."""

    name: TopicName = ""
    num_partitions: Int32 = 0
    replication_factor: Int16 = 0
    assignments: list[CreatableReplicaAssignment] = []
    configs: list[CreatableTopicConfig] = []


@message(api_key=19, versions="0-7", flexible="5+")
class CreateTopicsRequest(Struct):
    """The request of CreateTopics."""

    topics: list[CreatableTopic] = []
    timeout_ms: Int32 = 60_000
    validate_only: Annotated[Boolean, since("1+")] = False


class CreatableTopicConfigs(Struct):
    """One element of `configs` in CreatableTopicResult."""

    name: String = ""
    value: String | None = ""
    read_only: Boolean = False
    config_source: Int8 = -1
    is_sensitive: Boolean = False


class CreatableTopicResult(Struct):
    """One element of `topics` in CreateTopicsResponse."""

    name: TopicName = ""
    topic_id: Annotated[Uuid, since("7+"), ignorable] = ZERO_UUID
    error_code: Int16 = 0
    error_message: Annotated[String | None, since("1+"), ignorable] = ""
    topic_config_error_code: Annotated[Int16, since("5+"), tag(0), ignorable] = 0
    num_partitions: Annotated[Int32, since("5+"), ignorable] = -1
    replication_factor: Annotated[Int16, since("5+"), ignorable] = -1
    configs: Annotated[list[CreatableTopicConfigs] | None, since("5+"), ignorable] = []


@message(api_key=19, versions="0-7", flexible="5+")
class CreateTopicsResponse(Struct):
    """The response of CreateTopics."""

    throttle_time_ms: Annotated[Int32, since("2+"), ignorable] = 0
    topics: list[CreatableTopicResult] = []
