"""Lists the producers that lately wrote to partitions, and which have a transaction open.

API key 61, version 0, flexible from 0.

Source: KIP-664.
"""

from kdiag.wire.schema import Int16, Int32, Int64, ProducerId, String, Struct, TopicName, message


class TopicRequest(Struct):
    """One element of `topics` in DescribeProducersRequest."""

    name: TopicName = ""
    partition_indexes: list[Int32] = []


@message(api_key=61, versions="0", flexible="0+")
class DescribeProducersRequest(Struct):
    """The request of DescribeProducers."""

    topics: list[TopicRequest] = []


class ProducerState(Struct):
    """One element of `active_producers` in PartitionResponse."""

    producer_id: ProducerId = 0
    producer_epoch: Int32 = 0
    last_sequence: Int32 = -1
    last_timestamp: Int64 = -1
    coordinator_epoch: Int32 = 0
    current_txn_start_offset: Int64 = -1


class PartitionResponse(Struct):
    """One element of `partitions` in TopicResponse."""

    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
    active_producers: list[ProducerState] = []


class TopicResponse(Struct):
    """One element of `topics` in DescribeProducersResponse."""

    name: TopicName = ""
    partitions: list[PartitionResponse] = []


@message(api_key=61, versions="0", flexible="0+")
class DescribeProducersResponse(Struct):
    """The response of DescribeProducers."""

    throttle_time_ms: Int32 = 0
    topics: list[TopicResponse] = []
