"""Describes share groups: epochs, members and their assignments.

API key 77, versions 0-1, flexible from 0. Today's Kafka speaks 1 only.

Source: KIP-932.
"""

import msgspec

from kdiag.wire.schema import (
    ZERO_UUID,
    Boolean,
    GroupId,
    Int16,
    Int32,
    String,
    Struct,
    TopicName,
    Uuid,
    message,
)


@message(api_key=77, versions="0-1", flexible="0+")
class ShareGroupDescribeRequest(Struct):
    """The request of ShareGroupDescribe."""

    group_ids: list[GroupId] = []
    include_authorized_operations: Boolean = False


class TopicPartitions(Struct):
    """One element of `topic_partitions` in Assignment."""

    topic_id: Uuid = ZERO_UUID
    topic_name: TopicName = ""
    partitions: list[Int32] = []


class Assignment(Struct):
    """The value of `assignment` in Member."""

    topic_partitions: list[TopicPartitions] = []


class Member(Struct):
    """One element of `members` in DescribedGroup."""

    member_id: String = ""
    rack_id: String | None = None
    member_epoch: Int32 = 0
    client_id: String = ""
    client_host: String = ""
    subscribed_topic_names: list[TopicName] = []
    assignment: Assignment = msgspec.field(default_factory=Assignment)


class DescribedGroup(Struct):
    """One element of `groups` in ShareGroupDescribeResponse."""

    error_code: Int16 = 0
    error_message: String | None = None
    group_id: GroupId = ""
    group_state: String = ""
    group_epoch: Int32 = 0
    assignment_epoch: Int32 = 0
    assignor_name: String = ""
    members: list[Member] = []
    authorized_operations: Int32 = -2_147_483_648


@message(api_key=77, versions="0-1", flexible="0+")
class ShareGroupDescribeResponse(Struct):
    """The response of ShareGroupDescribe."""

    throttle_time_ms: Int32 = 0
    groups: list[DescribedGroup] = []
