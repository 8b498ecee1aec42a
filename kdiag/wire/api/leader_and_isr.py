"""The ZooKeeper-era controller tells a broker which partitions to lead and which to follow.

API key 4, versions 0-7, flexible from 4. Today's Kafka has dropped it.

Source: KIP-516 (v5), KIP-704 (v6), KIP-866 (v7).
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    Boolean,
    BrokerId,
    Int8,
    Int16,
    Int32,
    Int64,
    String,
    Struct,
    TopicName,
    Uuid,
    ignorable,
    message,
    since,
)


class LeaderAndIsrPartitionState(Struct):
    """One element of `ungrouped_partition_states` in LeaderAndIsrRequest."""

    topic_name: Annotated[TopicName, since("0-1"), ignorable] = ""
    partition_index: Int32 = 0
    controller_epoch: Int32 = 0
    leader: BrokerId = 0
    leader_epoch: Int32 = 0
    isr: list[BrokerId] = []
    partition_epoch: Int32 = 0
    replicas: list[BrokerId] = []
    adding_replicas: Annotated[list[BrokerId], since("3+"), ignorable] = []
    removing_replicas: Annotated[list[BrokerId], since("3+"), ignorable] = []
    is_new: Annotated[Boolean, since("1+"), ignorable] = False
    leader_recovery_state: Annotated[Int8, since("6+")] = 0


class LeaderAndIsrTopicState(Struct):
    """One element of `topic_states` in LeaderAndIsrRequest."""

    topic_name: TopicName = ""
    topic_id: Annotated[Uuid, since("5+"), ignorable] = ZERO_UUID
    partition_states: list[LeaderAndIsrPartitionState] = []


class LeaderAndIsrLiveLeader(Struct):
    """One element of `live_leaders` in LeaderAndIsrRequest."""

    broker_id: BrokerId = 0
    host_name: String = ""
    port: Int32 = 0


@message(api_key=4, versions="0-7", flexible="4+")
class LeaderAndIsrRequest(Struct):
    """The request of LeaderAndIsr."""

    controller_id: BrokerId = 0
    is_k_raft_controller: Annotated[Boolean, since("7+")] = False
    controller_epoch: Int32 = 0
    broker_epoch: Annotated[Int64, since("2+"), ignorable] = -1
    type: Annotated[Int8, since("5+")] = 0
    ungrouped_partition_states: Annotated[list[LeaderAndIsrPartitionState], since("0-1")] = []
    topic_states: Annotated[list[LeaderAndIsrTopicState], since("2+")] = []
    live_leaders: list[LeaderAndIsrLiveLeader] = []


class LeaderAndIsrPartitionError(Struct):
    """One element of `partition_errors` in LeaderAndIsrResponse."""

    topic_name: Annotated[TopicName, since("0-4"), ignorable] = ""
    partition_index: Int32 = 0
    error_code: Int16 = 0


class LeaderAndIsrTopicError(Struct):
    """One element of `topics` in LeaderAndIsrResponse."""

    topic_id: Uuid = ZERO_UUID
    partition_errors: list[LeaderAndIsrPartitionError] = []


@message(api_key=4, versions="0-7", flexible="4+")
class LeaderAndIsrResponse(Struct):
    """The response of LeaderAndIsr."""

    error_code: Int16 = 0
    partition_errors: Annotated[list[LeaderAndIsrPartitionError], since("0-4")] = []
    topics: Annotated[list[LeaderAndIsrTopicError], since("5+")] = []
