"""Elects leaders of partitions: the preferred replica, or any live one, losing records.

API key 43, versions 0-2, flexible from 2.

Source: KIP-183, KIP-460 (v1 unclean elections).
"""

from typing import Annotated

from kdiag.wire.schema import Int8, Int16, Int32, String, Struct, TopicName, message, since


class TopicPartitions(Struct):
    """One element of `topic_partitions` in ElectLeadersRequest."""

    topic: TopicName = ""
    partitions: list[Int32] = []


@message(api_key=43, versions="0-2", flexible="2+")
class ElectLeadersRequest(Struct):
    """The request of ElectLeaders."""

    election_type: Annotated[Int8, since("1+")] = 0
    topic_partitions: list[TopicPartitions] | None = []
    timeout_ms: Int32 = 60_000


class PartitionResult(Struct):
    """One element of `partition_result` in ReplicaElectionResult."""

    partition_id: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = ""


class ReplicaElectionResult(Struct):
    """One element of `replica_election_results` in ElectLeadersResponse."""

    topic: TopicName = ""
    partition_result: list[PartitionResult] = []


@message(api_key=43, versions="0-2", flexible="2+")
class ElectLeadersResponse(Struct):
    """The response of ElectLeaders."""

    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, since("1+")] = 0
    replica_election_results: list[ReplicaElectionResult] = []
