"""The ZooKeeper-era controller pushes the cluster's metadata to every broker.

API key 6, versions 0-8, flexible from 6. Today's Kafka has dropped it.

Source: KIP-516 (v7), KIP-866 (v8).
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
    tag,
)


class UpdateMetadataPartitionState(Struct):
    """One element of `ungrouped_partition_states` in UpdateMetadataRequest."""

    topic_name: Annotated[TopicName, since("0-4"), ignorable] = ""
    partition_index: Int32 = 0
    controller_epoch: Int32 = 0
    leader: BrokerId = 0
    leader_epoch: Int32 = 0
    isr: list[BrokerId] = []
    zk_version: Int32 = 0
    replicas: list[BrokerId] = []
    offline_replicas: Annotated[list[BrokerId], since("4+"), ignorable] = []


class UpdateMetadataTopicState(Struct):
    """One element of `topic_states` in UpdateMetadataRequest."""

    topic_name: TopicName = ""
    topic_id: Annotated[Uuid, since("7+"), ignorable] = ZERO_UUID
    partition_states: list[UpdateMetadataPartitionState] = []


class UpdateMetadataEndpoint(Struct):
    """One element of `endpoints` in UpdateMetadataBroker."""

    port: Int32 = 0
    host: String = ""
    listener: Annotated[String, since("3+"), ignorable] = ""
    security_protocol: Int16 = 0


class UpdateMetadataBroker(Struct):
    """One element of `live_brokers` in UpdateMetadataRequest."""

    id: BrokerId = 0
    v0_host: Annotated[String, since("0"), ignorable] = ""
    v0_port: Annotated[Int32, since("0"), ignorable] = 0
    endpoints: Annotated[list[UpdateMetadataEndpoint], since("1+"), ignorable] = []
    rack: Annotated[String | None, since("2+"), ignorable] = ""


@message(api_key=6, versions="0-8", flexible="6+")
class UpdateMetadataRequest(Struct):
    """The request of UpdateMetadata."""

    controller_id: BrokerId = 0
    is_k_raft_controller: Annotated[Boolean, since("8+")] = False
    type: Annotated[Int8, since("8+"), tag(0)] = 0
    controller_epoch: Int32 = 0
    broker_epoch: Annotated[Int64, since("5+"), ignorable] = -1
    ungrouped_partition_states: Annotated[list[UpdateMetadataPartitionState], since("0-4")] = []
    topic_states: Annotated[list[UpdateMetadataTopicState], since("5+")] = []
    live_brokers: list[UpdateMetadataBroker] = []


@message(api_key=6, versions="0-8", flexible="6+")
class UpdateMetadataResponse(Struct):
    """The response of UpdateMetadata."""

    error_code: Int16 = 0
