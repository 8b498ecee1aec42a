"""Starts, changes or cancels the move of partitions to other brokers.

API key 45, versions 0-1, flexible from 0.

Source: KIP-455.
"""

from typing import Annotated

from kdiag.wire.schema import (
    Boolean,
    BrokerId,
    Int16,
    Int32,
    String,
    Struct,
    TopicName,
    ignorable,
    message,
    since,
)


class ReassignablePartition(Struct):
    """One element of `partitions` in ReassignableTopic."""

    partition_index: Int32 = 0
    replicas: list[BrokerId] | None = None


class ReassignableTopic(Struct):
    """One element of `topics` in AlterPartitionReassignmentsRequest."""

    name: TopicName = ""
    partitions: list[ReassignablePartition] = []


@message(api_key=45, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsRequest(Struct):
    """The request of AlterPartitionReassignments."""

    timeout_ms: Int32 = 60_000
    allow_replication_factor_change: Annotated[Boolean, since("1+")] = True
    topics: list[ReassignableTopic] = []


class ReassignablePartitionResponse(Struct):
    """One element of `partitions` in ReassignableTopicResponse."""

    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = ""


class ReassignableTopicResponse(Struct):
    """One element of `responses` in AlterPartitionReassignmentsResponse."""

    name: TopicName = ""
    partitions: list[ReassignablePartitionResponse] = []


@message(api_key=45, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsResponse(Struct):
    """The response of AlterPartitionReassignments."""

    throttle_time_ms: Int32 = 0
    allow_replication_factor_change: Annotated[Boolean, since("1+"), ignorable] = True
    error_code: Int16 = 0
    error_message: String | None = ""
    responses: list[ReassignableTopicResponse] = []
