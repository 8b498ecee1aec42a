"""A partition's leader asks the controller to change the set of in-sync replicas.

API key 56, versions 0-3, flexible from 0. Today's Kafka speaks 2-3 only.

Source: KIP-497, KIP-704 (v1), KIP-841 (v2), KIP-903 (v3).
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    BrokerId,
    Int8,
    Int16,
    Int32,
    Int64,
    Struct,
    TopicName,
    Uuid,
    ignorable,
    message,
    since,
)


class BrokerState(Struct):
    """One element of `new_isr_with_epochs` in PartitionData."""

    broker_id: BrokerId = 0
    broker_epoch: Int64 = -1


class PartitionData(Struct):
    """One element of `partitions` in TopicData."""

    partition_index: Int32 = 0
    leader_epoch: Int32 = 0
    new_isr: Annotated[list[BrokerId], since("0-2")] = []
    new_isr_with_epochs: Annotated[list[BrokerState], since("3+")] = []
    leader_recovery_state: Annotated[Int8, since("1+")] = 0
    partition_epoch: Int32 = 0


class TopicData(Struct):
    """One element of `topics` in AlterPartitionRequest."""

    topic_name: Annotated[TopicName, since("0-1"), ignorable] = ""
    topic_id: Annotated[Uuid, since("2+"), ignorable] = ZERO_UUID
    partitions: list[PartitionData] = []


@message(api_key=56, versions="0-3", flexible="0+")
class AlterPartitionRequest(Struct):
    """The request of AlterPartition."""

    broker_id: BrokerId = 0
    broker_epoch: Int64 = -1
    topics: list[TopicData] = []


class ResponsePartitionData(Struct):
    """One element of `partitions` in ResponseTopicData."""

    partition_index: Int32 = 0
    error_code: Int16 = 0
    leader_id: BrokerId = 0
    leader_epoch: Int32 = 0
    isr: list[BrokerId] = []
    leader_recovery_state: Annotated[Int8, since("1+"), ignorable] = 0
    partition_epoch: Int32 = 0


class ResponseTopicData(Struct):
    """One element of `topics` in AlterPartitionResponse."""

    topic_name: Annotated[TopicName, since("0-1"), ignorable] = ""
    topic_id: Annotated[Uuid, since("2+"), ignorable] = ZERO_UUID
    partitions: list[ResponsePartitionData] = []


@message(api_key=56, versions="0-3", flexible="0+")
class AlterPartitionResponse(Struct):
    """The response of AlterPartition."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    topics: list[ResponseTopicData] = []
