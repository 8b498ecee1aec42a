"""Adds partitions to an open transaction before the producer writes to them.

API key 24, versions 0-5, flexible from 3.

Source: KIP-98, KIP-890 (v4 many transactions, v5).
"""

from typing import Annotated

from kdiag.wire.schema import (
    Boolean,
    Int16,
    Int32,
    ProducerId,
    Struct,
    TopicName,
    TransactionalId,
    ignorable,
    message,
    since,
)


class AddPartitionsToTxnTopic(Struct):
    """One element of `v3_and_below_topics` in AddPartitionsToTxnRequest."""

    name: TopicName = ""
    partitions: list[Int32] = []


class AddPartitionsToTxnTransaction(Struct):
    """One element of `transactions` in AddPartitionsToTxnRequest."""

    transactional_id: TransactionalId = ""
    producer_id: ProducerId = 0
    producer_epoch: Int16 = 0
    verify_only: Boolean = False
    topics: list[AddPartitionsToTxnTopic] = []


@message(api_key=24, versions="0-5", flexible="3+")
class AddPartitionsToTxnRequest(Struct):
    """The request of AddPartitionsToTxn."""

    transactions: Annotated[list[AddPartitionsToTxnTransaction], since("4+")] = []
    v3_and_below_transactional_id: Annotated[TransactionalId, since("0-3")] = ""
    v3_and_below_producer_id: Annotated[ProducerId, since("0-3")] = 0
    v3_and_below_producer_epoch: Annotated[Int16, since("0-3")] = 0
    v3_and_below_topics: Annotated[list[AddPartitionsToTxnTopic], since("0-3")] = []


class AddPartitionsToTxnPartitionResult(Struct):
    """One element of `results_by_partition` in AddPartitionsToTxnTopicResult."""

    partition_index: Int32 = 0
    partition_error_code: Int16 = 0


class AddPartitionsToTxnTopicResult(Struct):
    """One element of `results_by_topic_v3_and_below` in AddPartitionsToTxnResponse."""

    name: TopicName = ""
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = []


class AddPartitionsToTxnResult(Struct):
    """One element of `results_by_transaction` in AddPartitionsToTxnResponse."""

    transactional_id: TransactionalId = ""
    topic_results: list[AddPartitionsToTxnTopicResult] = []


@message(api_key=24, versions="0-5", flexible="3+")
class AddPartitionsToTxnResponse(Struct):
    """The response of AddPartitionsToTxn."""

    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, since("4+"), ignorable] = 0
    results_by_transaction: Annotated[list[AddPartitionsToTxnResult], since("4+")] = []
    results_by_topic_v3_and_below: Annotated[list[AddPartitionsToTxnTopicResult], since("0-3")] = []
