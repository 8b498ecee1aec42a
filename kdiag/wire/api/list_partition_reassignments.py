"""Lists the moves of partitions that are still under way.

API key 46, version 0, flexible from 0.

Source: KIP-455.
"""

from kdiag.wire.schema import BrokerId, Int16, Int32, String, Struct, TopicName, message


class ListPartitionReassignmentsTopics(Struct):
    """One element of `topics` in ListPartitionReassignmentsRequest."""

    name: TopicName = ""
    partition_indexes: list[Int32] = []


@message(api_key=46, versions="0", flexible="0+")
class ListPartitionReassignmentsRequest(Struct):
    """The request of ListPartitionReassignments."""

    timeout_ms: Int32 = 60_000
    topics: list[ListPartitionReassignmentsTopics] | None = None


class OngoingPartitionReassignment(Struct):
    """One element of `partitions` in OngoingTopicReassignment."""

    partition_index: Int32 = 0
    replicas: list[BrokerId] = []
    adding_replicas: list[BrokerId] = []
    removing_replicas: list[BrokerId] = []


class OngoingTopicReassignment(Struct):
    """One element of `topics` in ListPartitionReassignmentsResponse."""

    name: TopicName = ""
    partitions: list[OngoingPartitionReassignment] = []


@message(api_key=46, versions="0", flexible="0+")
class ListPartitionReassignmentsResponse(Struct):
    """The response of ListPartitionReassignments."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = ""
    topics: list[OngoingTopicReassignment] = []
