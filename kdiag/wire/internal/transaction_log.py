"""A transactional id: its producer, its state and the partitions it wrote to.

Record type 0 of `__transaction_state`, versions 0-1, flexible from 1.
"""

from typing import Annotated

from kdiag.wire.schema import Int8, Int16, Int32, Int64, String, Struct, message, since, tag


@message(versions="0")
class TransactionLogKey(Struct):
    """The key of a record of type 0."""

    transactional_id: String = ""


class PartitionsSchema(Struct):
    """One element of `transaction_partitions` in TransactionLogValue."""

    topic: String = ""
    partition_ids: list[Int32] = []


@message(versions="0-1", flexible="1+")
class TransactionLogValue(Struct):
    """The value of a record of type 0."""

    producer_id: Int64 = 0
    previous_producer_id: Annotated[Int64, since("1+"), tag(0)] = -1
    next_producer_id: Annotated[Int64, since("1+"), tag(1)] = -1
    producer_epoch: Int16 = 0
    next_producer_epoch: Annotated[Int16, since("1+"), tag(3)] = -1
    transaction_timeout_ms: Int32 = 0
    transaction_status: Int8 = 0
    transaction_partitions: list[PartitionsSchema] | None = []
    transaction_last_update_timestamp_ms: Int64 = 0
    transaction_start_timestamp_ms: Int64 = 0
    client_transaction_version: Annotated[Int16, since("1+"), tag(2)] = 0
