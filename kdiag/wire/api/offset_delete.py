"""Deletes committed offsets of a group for partitions that it no longer reads.

API key 47, version 0, never flexible.

Source: KIP-496.
"""

from kdiag.wire.schema import GroupId, Int16, Int32, Struct, TopicName, message


class OffsetDeleteRequestPartition(Struct):
    """One element of `partitions` in OffsetDeleteRequestTopic."""

    partition_index: Int32 = 0


class OffsetDeleteRequestTopic(Struct):
    """One element of `topics` in OffsetDeleteRequest."""

    name: TopicName = ""
    partitions: list[OffsetDeleteRequestPartition] = []


@message(api_key=47, versions="0")
class OffsetDeleteRequest(Struct):
    """The request of OffsetDelete."""

    group_id: GroupId = ""
    topics: list[OffsetDeleteRequestTopic] = []


class OffsetDeleteResponsePartition(Struct):
    """One element of `partitions` in OffsetDeleteResponseTopic."""

    partition_index: Int32 = 0
    error_code: Int16 = 0


class OffsetDeleteResponseTopic(Struct):
    """One element of `topics` in OffsetDeleteResponse."""

    name: TopicName = ""
    partitions: list[OffsetDeleteResponsePartition] = []


@message(api_key=47, versions="0")
class OffsetDeleteResponse(Struct):
    """The response of OffsetDelete."""

    error_code: Int16 = 0
    throttle_time_ms: Int32 = 0
    topics: list[OffsetDeleteResponseTopic] = []
