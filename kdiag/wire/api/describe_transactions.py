"""Describes transactions by transactional id: state, producer, timeout and partitions.

API key 65, version 0, flexible from 0.

Source: KIP-664.
"""

from kdiag.wire.schema import (
    Int16,
    Int32,
    Int64,
    ProducerId,
    String,
    Struct,
    TopicName,
    TransactionalId,
    message,
)


@message(api_key=65, versions="0", flexible="0+")
class DescribeTransactionsRequest(Struct):
    """The request of DescribeTransactions."""

    transactional_ids: list[TransactionalId] = []


class TopicData(Struct):
    """One element of `topics` in TransactionState."""

    topic: TopicName = ""
    partitions: list[Int32] = []


class TransactionState(Struct):
    """One element of `transaction_states` in DescribeTransactionsResponse."""

    error_code: Int16 = 0
    transactional_id: TransactionalId = ""
    transaction_state: String = ""
    transaction_timeout_ms: Int32 = 0
    transaction_start_time_ms: Int64 = 0
    producer_id: ProducerId = 0
    producer_epoch: Int16 = 0
    topics: list[TopicData] = []


@message(api_key=65, versions="0", flexible="0+")
class DescribeTransactionsResponse(Struct):
    """The response of DescribeTransactions."""

    throttle_time_ms: Int32 = 0
    transaction_states: list[TransactionState] = []
