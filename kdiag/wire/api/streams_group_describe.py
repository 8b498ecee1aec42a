"""Describes streams groups: topology, members, tasks and epochs.

API key 89, versions 0-1, flexible from 0.

Source: KIP-1071, KIP-1331 and KIP-1357 (v1).
"""

from typing import Annotated

import msgspec

from kdiag.wire.schema import (
    Boolean,
    GroupId,
    Int8,
    Int16,
    Int32,
    Int64,
    String,
    Struct,
    TopicName,
    Uint16,
    ignorable,
    message,
    since,
)


@message(api_key=89, versions="0-1", flexible="0+")
class StreamsGroupDescribeRequest(Struct):
    """The request of StreamsGroupDescribe."""

    group_ids: list[GroupId] = []
    include_authorized_operations: Boolean = False
    include_topology_description: Annotated[Boolean, since("1+")] = False


class KeyValue(Struct):
    """One element of `client_tags` in Member."""

    key: String = ""
    value: String = ""


class TopicInfo(Struct):
    """One element of `state_changelog_topics` in Subtopology."""

    name: TopicName = ""
    partitions: Int32 = 0
    replication_factor: Int16 = 0
    topic_configs: list[KeyValue] = []


class Subtopology(Struct):
    """One element of `subtopologies` in Topology."""

    subtopology_id: String = ""
    source_topics: list[TopicName] = []
    repartition_sink_topics: list[TopicName] = []
    state_changelog_topics: list[TopicInfo] = []
    repartition_source_topics: list[TopicInfo] = []


class Topology(Struct):
    """The value of `topology` in DescribedGroup."""

    epoch: Int32 = 0
    subtopologies: list[Subtopology] | None = None


class Endpoint(Struct):
    """The value of `user_endpoint` in Member."""

    host: String = ""
    port: Uint16 = 0


class TaskOffset(Struct):
    """One element of `task_offsets` in Member."""

    subtopology_id: String = ""
    partition: Int32 = 0
    offset: Int64 = 0


class TaskIds(Struct):
    """One element of `active_tasks` in Assignment."""

    subtopology_id: String = ""
    partitions: list[Int32] = []


class Assignment(Struct):
    """The value of `assignment` in Member."""

    active_tasks: list[TaskIds] = []
    standby_tasks: list[TaskIds] = []
    warmup_tasks: list[TaskIds] = []


class Member(Struct):
    """One element of `members` in DescribedGroup."""

    member_id: String = ""
    member_epoch: Int32 = 0
    instance_id: String | None = None
    rack_id: String | None = None
    client_id: String = ""
    client_host: String = ""
    topology_epoch: Int32 = 0
    process_id: String = ""
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] = []
    task_offsets: list[TaskOffset] = []
    task_end_offsets: list[TaskOffset] = []
    assignment: Assignment = msgspec.field(default_factory=Assignment)
    target_assignment: Assignment = msgspec.field(default_factory=Assignment)
    is_classic: Boolean = False


class TopologyDescriptionNode(Struct):
    """The value of `source` in TopologyDescriptionGlobalStore."""

    name: String = ""
    node_type: Int8 = 0
    source_topics: list[TopicName] = []
    sink_topic: TopicName | None = None
    stores: list[String] = []
    successors: list[String] = []


class TopologyDescriptionSubtopology(Struct):
    """One element of `subtopologies` in TopologyDescription."""

    subtopology_id: String = ""
    nodes: list[TopologyDescriptionNode] = []


class TopologyDescriptionGlobalStore(Struct):
    """One element of `global_stores` in TopologyDescription."""

    source: TopologyDescriptionNode = msgspec.field(default_factory=TopologyDescriptionNode)
    processor: TopologyDescriptionNode = msgspec.field(default_factory=TopologyDescriptionNode)


class TopologyDescription(Struct):
    """The value of `topology_description` in DescribedGroup."""

    subtopologies: list[TopologyDescriptionSubtopology] = []
    global_stores: list[TopologyDescriptionGlobalStore] = []


class DescribedGroup(Struct):
    """One element of `groups` in StreamsGroupDescribeResponse."""

    error_code: Int16 = 0
    error_message: String | None = None
    group_id: GroupId = ""
    group_state: String = ""
    group_epoch: Int32 = 0
    assignment_epoch: Int32 = 0
    topology: Topology | None = None
    members: list[Member] = []
    authorized_operations: Int32 = -2_147_483_648
    topology_description: Annotated[TopologyDescription | None, since("1+")] = None
    topology_description_status: Annotated[Int8, since("1+")] = 0
    assignor_name: Annotated[String | None, since("1+"), ignorable] = None


@message(api_key=89, versions="0-1", flexible="0+")
class StreamsGroupDescribeResponse(Struct):
    """The response of StreamsGroupDescribe."""

    throttle_time_ms: Int32 = 0
    groups: list[DescribedGroup] = []
