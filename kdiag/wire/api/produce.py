"""A producer appends record batches to partitions, on the broker that leads them.

API key 0, versions 0-13, flexible from 9. Today's Kafka speaks 3-13 only.

Source: KIP-98 (v3 transactions), KIP-467 (v8 errors of single records), KIP-951 (v10 new leader),
KIP-890 (v11, v12), KIP-516 (v13 topic ids).
"""

from typing import Annotated

import msgspec

from kdiag.wire.schema import (
    ZERO_UUID,
    BrokerId,
    Int16,
    Int32,
    Int64,
    Records,
    String,
    Struct,
    TopicName,
    TransactionalId,
    Uuid,
    ignorable,
    message,
    since,
    tag,
)


class PartitionProduceData(Struct):
    """One element of `partition_data` in TopicProduceData."""

    index: Int32 = 0
    records: Records | None = None


class TopicProduceData(Struct):
    """One element of `topic_data` in ProduceRequest."""

    name: Annotated[TopicName, since("0-12"), ignorable] = ""
    topic_id: Annotated[Uuid, since("13+"), ignorable] = ZERO_UUID
    partition_data: list[PartitionProduceData] = []


@message(api_key=0, versions="0-13", flexible="9+")
class ProduceRequest(Struct):
    """The request of Produce."""

    transactional_id: Annotated[TransactionalId | None, since("3+")] = None
    acks: Int16 = 0
    timeout_ms: Int32 = 0
    topic_data: list[TopicProduceData] = []


class BatchIndexAndErrorMessage(Struct):
    """One element of `record_errors` in PartitionProduceResponse."""

    batch_index: Int32 = 0
    batch_index_error_message: String | None = None


class LeaderIdAndEpoch(Struct):
    """The value of `current_leader` in PartitionProduceResponse."""

    leader_id: BrokerId = -1
    leader_epoch: Int32 = -1


class PartitionProduceResponse(Struct):
    """One element of `partition_responses` in TopicProduceResponse."""

    index: Int32 = 0
    error_code: Int16 = 0
    base_offset: Int64 = 0
    log_append_time_ms: Annotated[Int64, since("2+"), ignorable] = -1
    log_start_offset: Annotated[Int64, since("5+"), ignorable] = -1
    record_errors: Annotated[list[BatchIndexAndErrorMessage], since("8+"), ignorable] = []
    error_message: Annotated[String | None, since("8+"), ignorable] = None
    current_leader: Annotated[LeaderIdAndEpoch, since("10+"), tag(0)] = msgspec.field(
        default_factory=LeaderIdAndEpoch
    )


class TopicProduceResponse(Struct):
    """One element of `responses` in ProduceResponse."""

    name: Annotated[TopicName, since("0-12"), ignorable] = ""
    topic_id: Annotated[Uuid, since("13+"), ignorable] = ZERO_UUID
    partition_responses: list[PartitionProduceResponse] = []


class NodeEndpoint(Struct):
    """One element of `node_endpoints` in ProduceResponse."""

    node_id: BrokerId = 0
    host: String = ""
    port: Int32 = 0
    rack: String | None = None


@message(api_key=0, versions="0-13", flexible="9+")
class ProduceResponse(Struct):
    """The response of Produce."""

    responses: list[TopicProduceResponse] = []
    throttle_time_ms: Annotated[Int32, since("1+"), ignorable] = 0
    node_endpoints: Annotated[list[NodeEndpoint], since("10+"), tag(0)] = []
