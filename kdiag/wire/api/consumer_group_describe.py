"""Describes groups of the new consumer protocol: epochs, members, current and target plans.

API key 69, versions 0-1, flexible from 0.

Source: KIP-848, KIP-1099 (v1 member type).
"""

from typing import Annotated

import msgspec

from kdiag.wire.schema import (
    ZERO_UUID,
    Boolean,
    GroupId,
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
)


@message(api_key=69, versions="0-1", flexible="0+")
class ConsumerGroupDescribeRequest(Struct):
    """The request of ConsumerGroupDescribe."""

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
    instance_id: String | None = None
    rack_id: String | None = None
    member_epoch: Int32 = 0
    client_id: String = ""
    client_host: String = ""
    subscribed_topic_names: list[TopicName] = []
    subscribed_topic_regex: String | None = None
    assignment: Assignment = msgspec.field(default_factory=Assignment)
    target_assignment: Assignment = msgspec.field(default_factory=Assignment)
    member_type: Annotated[Int8, since("1+"), ignorable] = -1


class DescribedGroup(Struct):
    """One element of `groups` in ConsumerGroupDescribeResponse."""

    error_code: Int16 = 0
    error_message: String | None = None
    group_id: GroupId = ""
    group_state: String = ""
    group_epoch: Int32 = 0
    assignment_epoch: Int32 = 0
    assignor_name: String = ""
    members: list[Member] = []
    authorized_operations: Int32 = -2_147_483_648


@message(api_key=69, versions="0-1", flexible="0+")
class ConsumerGroupDescribeResponse(Struct):
    """The response of ConsumerGroupDescribe."""

    throttle_time_ms: Int32 = 0
    groups: list[DescribedGroup] = []
