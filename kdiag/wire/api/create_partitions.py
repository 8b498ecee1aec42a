"""Adds partitions to topics.

API key 37, versions 0-3, flexible from 2.

Source: KIP-195, KIP-599 (v3 throttling).
"""

from kdiag.wire.schema import Boolean, BrokerId, Int16, Int32, String, Struct, TopicName, message


class CreatePartitionsAssignment(Struct):
    """One element of `assignments` in CreatePartitionsTopic."""

    broker_ids: list[BrokerId] = []


class CreatePartitionsTopic(Struct):
    """One element of `topics` in CreatePartitionsRequest."""

    name: TopicName = ""
    count: Int32 = 0
    assignments: list[CreatePartitionsAssignment] | None = []


@message(api_key=37, versions="0-3", flexible="2+")
class CreatePartitionsRequest(Struct):
    """The request of CreatePartitions."""

    topics: list[CreatePartitionsTopic] = []
    timeout_ms: Int32 = 0
    validate_only: Boolean = False


class CreatePartitionsTopicResult(Struct):
    """One element of `results` in CreatePartitionsResponse."""

    name: TopicName = ""
    error_code: Int16 = 0
    error_message: String | None = None


@message(api_key=37, versions="0-3", flexible="2+")
class CreatePartitionsResponse(Struct):
    """The response of CreatePartitions."""

    throttle_time_ms: Int32 = 0
    results: list[CreatePartitionsTopicResult] = []
