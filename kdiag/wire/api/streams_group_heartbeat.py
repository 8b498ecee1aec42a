"""The heartbeat of a streams group: topology in, tasks and endpoints out.

API key 88, versions 0-1, flexible from 0.

Source: KIP-1071, KIP-1331 (v1).
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


class KeyValue(Struct):
    """One element of `client_tags` in StreamsGroupHeartbeatRequest."""

    key: String = ""
    value: String = ""


class TopicInfo(Struct):
    """One element of `state_changelog_topics` in Subtopology."""

    name: TopicName = ""
    partitions: Int32 = 0
    replication_factor: Int16 = 0
    topic_configs: list[KeyValue] = []


class CopartitionGroup(Struct):
    """One element of `copartition_groups` in Subtopology."""

    source_topics: list[Int16] = []
    source_topic_regex: list[Int16] = []
    repartition_source_topics: list[Int16] = []


class Subtopology(Struct):
    """One element of `subtopologies` in Topology."""

    subtopology_id: String = ""
    source_topics: list[TopicName] = []
    source_topic_regex: list[String] = []
    state_changelog_topics: list[TopicInfo] = []
    repartition_sink_topics: list[TopicName] = []
    repartition_source_topics: list[TopicInfo] = []
    copartition_groups: list[CopartitionGroup] = []


class Topology(Struct):
    """The value of `topology` in StreamsGroupHeartbeatRequest."""

    epoch: Int32 = 0
    subtopologies: list[Subtopology] = []


class TaskIds(Struct):
    """One element of `active_tasks` in StreamsGroupHeartbeatRequest."""

    subtopology_id: String = ""
    partitions: list[Int32] = []


class Endpoint(Struct):
    """The value of `user_endpoint` in StreamsGroupHeartbeatRequest."""

    host: String = ""
    port: Uint16 = 0


class TaskOffset(Struct):
    """One element of `task_offsets` in StreamsGroupHeartbeatRequest."""

    subtopology_id: String = ""
    partition: Int32 = 0
    offset: Int64 = 0


@message(api_key=88, versions="0-1", flexible="0+")
class StreamsGroupHeartbeatRequest(Struct):
    """The request of StreamsGroupHeartbeat."""

    group_id: GroupId = ""
    member_id: String = ""
    member_epoch: Int32 = 0
    endpoint_information_epoch: Int32 = 0
    instance_id: String | None = None
    rack_id: String | None = None
    rebalance_timeout_ms: Int32 = -1
    topology: Topology | None = None
    active_tasks: list[TaskIds] | None = None
    standby_tasks: list[TaskIds] | None = None
    warmup_tasks: list[TaskIds] | None = None
    process_id: String | None = None
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] | None = None
    task_offsets: list[TaskOffset] | None = None
    task_end_offsets: list[TaskOffset] | None = None
    shutdown_application: Boolean = False


class Status(Struct):
    """One element of `status` in StreamsGroupHeartbeatResponse."""

    status_code: Int8 = 0
    status_detail: String = ""


class TopicPartition(Struct):
    """One element of `active_partitions` in EndpointToPartitions."""

    topic: TopicName = ""
    partitions: list[Int32] = []


class EndpointToPartitions(Struct):
    """One element of `partitions_by_user_endpoint` in StreamsGroupHeartbeatResponse."""

    user_endpoint: Endpoint = msgspec.field(default_factory=Endpoint)
    active_partitions: list[TopicPartition] = []
    standby_partitions: list[TopicPartition] = []


@message(api_key=88, versions="0-1", flexible="0+")
class StreamsGroupHeartbeatResponse(Struct):
    """The response of StreamsGroupHeartbeat."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
    member_id: String = ""
    member_epoch: Int32 = 0
    heartbeat_interval_ms: Int32 = 0
    acceptable_recovery_lag_legacy: Annotated[Int32, since("0")] = 0
    task_offset_interval_ms: Int32 = 0
    acceptable_recovery_lag: Annotated[Int64, since("1+"), ignorable] = -1
    status: list[Status] | None = []
    active_tasks: list[TaskIds] | None = None
    standby_tasks: list[TaskIds] | None = None
    warmup_tasks: list[TaskIds] | None = None
    topology_description_required: Annotated[Boolean, since("1+")] = False
    endpoint_information_epoch: Int32 = 0
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = None
