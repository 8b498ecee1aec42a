"""Stores consumer offsets that become visible only if their transaction commits.

API key 28, versions 0-6, flexible from 3.

Source: KIP-98, KIP-447 (v3 member), KIP-890 (v4, v5), KIP-1319 (v6 topic ids).
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    GroupId,
    Int16,
    Int32,
    Int64,
    ProducerId,
    String,
    Struct,
    TopicName,
    TransactionalId,
    Uuid,
    ignorable,
    message,
    since,
)


class TxnOffsetCommitRequestPartition(Struct):
    """One element of `partitions` in TxnOffsetCommitRequestTopic."""

    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, since("2+"), ignorable] = -1
    committed_metadata: String | None = ""


class TxnOffsetCommitRequestTopic(Struct):
    """One element of `topics` in TxnOffsetCommitRequest."""

    name: Annotated[TopicName, since("0-5"), ignorable] = ""
    topic_id: Annotated[Uuid, since("6+"), ignorable] = ZERO_UUID
    partitions: list[TxnOffsetCommitRequestPartition] = []


@message(api_key=28, versions="0-6", flexible="3+")
class TxnOffsetCommitRequest(Struct):
    """The request of TxnOffsetCommit."""

    transactional_id: TransactionalId = ""
    group_id: GroupId = ""
    producer_id: ProducerId = 0
    producer_epoch: Int16 = 0
    generation_id_or_member_epoch: Annotated[Int32, since("3+")] = -1
    member_id: Annotated[String, since("3+")] = ""
    group_instance_id: Annotated[String | None, since("3+")] = None
    topics: list[TxnOffsetCommitRequestTopic] = []


class TxnOffsetCommitResponsePartition(Struct):
    """One element of `partitions` in TxnOffsetCommitResponseTopic."""

    partition_index: Int32 = 0
    error_code: Int16 = 0


class TxnOffsetCommitResponseTopic(Struct):
    """One element of `topics` in TxnOffsetCommitResponse."""

    name: Annotated[TopicName, since("0-5"), ignorable] = ""
    topic_id: Annotated[Uuid, since("6+"), ignorable] = ZERO_UUID
    partitions: list[TxnOffsetCommitResponsePartition] = []


@message(api_key=28, versions="0-6", flexible="3+")
class TxnOffsetCommitResponse(Struct):
    """The response of TxnOffsetCommit."""

    throttle_time_ms: Int32 = 0
    topics: list[TxnOffsetCommitResponseTopic] = []
