"""Tells a client the brokers, the topics, and which broker leads each partition.

API key 3, versions 0-13, flexible from 9.

Source: KIP-112 (v5 offline replicas), KIP-320 (v7 leader epoch), KIP-430 (v8 authorized
operations), KIP-516 (v10 topic ids), KIP-700 (v11).
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    Boolean,
    BrokerId,
    Int16,
    Int32,
    String,
    Struct,
    TopicName,
    Uuid,
    ignorable,
    message,
    nullable,
    since,
)


class MetadataRequestTopic(Struct):
    """One element of `topics` in MetadataRequest."""

    topic_id: Annotated[Uuid, since("10+"), ignorable] = ZERO_UUID
    name: Annotated[TopicName | None, nullable("10+")] = ""


@message(api_key=3, versions="0-13", flexible="9+")
class MetadataRequest(Struct):
    """The request of Metadata."""

    topics: Annotated[list[MetadataRequestTopic] | None, nullable("1+")] = []
    allow_auto_topic_creation: Annotated[Boolean, since("4+")] = True
    include_cluster_authorized_operations: Annotated[Boolean, since("8-10")] = False
    include_topic_authorized_operations: Annotated[Boolean, since("8+")] = False


class MetadataResponseBroker(Struct):
    """One element of `brokers` in MetadataResponse."""

    node_id: BrokerId = 0
    host: String = ""
    port: Int32 = 0
    rack: Annotated[String | None, since("1+"), ignorable] = None


class MetadataResponsePartition(Struct):
    """One element of `partitions` in MetadataResponseTopic."""

    error_code: Int16 = 0
    partition_index: Int32 = 0
    leader_id: BrokerId = 0
    leader_epoch: Annotated[Int32, since("7+"), ignorable] = -1
    replica_nodes: list[BrokerId] = []
    isr_nodes: list[BrokerId] = []
    offline_replicas: Annotated[list[BrokerId], since("5+"), ignorable] = []


class MetadataResponseTopic(Struct):
    """One element of `topics` in MetadataResponse."""

    error_code: Int16 = 0
    name: Annotated[TopicName | None, nullable("12+")] = ""
    topic_id: Annotated[Uuid, since("10+"), ignorable] = ZERO_UUID
    is_internal: Annotated[Boolean, since("1+"), ignorable] = False
    partitions: list[MetadataResponsePartition] = []
    topic_authorized_operations: Annotated[Int32, since("8+")] = -2_147_483_648


@message(api_key=3, versions="0-13", flexible="9+")
class MetadataResponse(Struct):
    """The response of Metadata."""

    throttle_time_ms: Annotated[Int32, since("3+"), ignorable] = 0
    brokers: list[MetadataResponseBroker] = []
    cluster_id: Annotated[String | None, since("2+"), ignorable] = None
    controller_id: Annotated[BrokerId, since("1+"), ignorable] = -1
    topics: list[MetadataResponseTopic] = []
    cluster_authorized_operations: Annotated[Int32, since("8-10")] = -2_147_483_648
    error_code: Annotated[Int16, since("13+"), ignorable] = 0
