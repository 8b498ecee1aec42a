"""The ZooKeeper-era controller tells a broker to stop, and perhaps delete, replicas.

API key 5, versions 0-4, flexible from 2. Today's Kafka has dropped it.

Source: KIP-570 (v3), KIP-866 (v4).
"""

from typing import Annotated

from kdiag.wire.schema import (
    Boolean,
    BrokerId,
    Int16,
    Int32,
    Int64,
    Struct,
    TopicName,
    ignorable,
    message,
    since,
)


class StopReplicaPartitionV0(Struct):
    """One element of `ungrouped_partitions` in StopReplicaRequest."""

    topic_name: TopicName = ""
    partition_index: Int32 = 0


class StopReplicaTopicV1(Struct):
    """One element of `topics` in StopReplicaRequest."""

    name: TopicName = ""
    partition_indexes: list[Int32] = []


class StopReplicaPartitionState(Struct):
    """One element of `partition_states` in StopReplicaTopicState."""

    partition_index: Int32 = 0
    leader_epoch: Int32 = -1
    delete_partition: Boolean = False


class StopReplicaTopicState(Struct):
    """One element of `topic_states` in StopReplicaRequest."""

    topic_name: TopicName = ""
    partition_states: list[StopReplicaPartitionState] = []


@message(api_key=5, versions="0-4", flexible="2+")
class StopReplicaRequest(Struct):
    """The request of StopReplica."""

    controller_id: BrokerId = 0
    is_k_raft_controller: Annotated[Boolean, since("4+")] = False
    controller_epoch: Int32 = 0
    broker_epoch: Annotated[Int64, since("1+"), ignorable] = -1
    delete_partitions: Annotated[Boolean, since("0-2")] = False
    ungrouped_partitions: Annotated[list[StopReplicaPartitionV0], since("0")] = []
    topics: Annotated[list[StopReplicaTopicV1], since("1-2")] = []
    topic_states: Annotated[list[StopReplicaTopicState], since("3+")] = []


class StopReplicaPartitionError(Struct):
    """One element of `partition_errors` in StopReplicaResponse."""

    topic_name: TopicName = ""
    partition_index: Int32 = 0
    error_code: Int16 = 0


@message(api_key=5, versions="0-4", flexible="2+")
class StopReplicaResponse(Struct):
    """The response of StopReplica."""

    error_code: Int16 = 0
    partition_errors: list[StopReplicaPartitionError] = []
