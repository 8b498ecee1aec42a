"""Deletes the records before given offsets by moving the start of partitions' logs forward.

API key 21, versions 0-2, flexible from 2.

Source: KIP-107.
"""

from kdiag.wire.schema import Int16, Int32, Int64, Struct, TopicName, message


class DeleteRecordsPartition(Struct):
    """One element of `partitions` in DeleteRecordsTopic."""

    partition_index: Int32 = 0
    offset: Int64 = 0


class DeleteRecordsTopic(Struct):
    """One element of `topics` in DeleteRecordsRequest."""

    name: TopicName = ""
    partitions: list[DeleteRecordsPartition] = []


@message(api_key=21, versions="0-2", flexible="2+")
class DeleteRecordsRequest(Struct):
    """The request of DeleteRecords."""

    topics: list[DeleteRecordsTopic] = []
    timeout_ms: Int32 = 0


class DeleteRecordsPartitionResult(Struct):
    """One element of `partitions` in DeleteRecordsTopicResult."""

    partition_index: Int32 = 0
    low_watermark: Int64 = 0
    error_code: Int16 = 0


class DeleteRecordsTopicResult(Struct):
    """One element of `topics` in DeleteRecordsResponse."""

    name: TopicName = ""
    partitions: list[DeleteRecordsPartitionResult] = []


@message(api_key=21, versions="0-2", flexible="2+")
class DeleteRecordsResponse(Struct):
    """The response of DeleteRecords."""

    throttle_time_ms: Int32 = 0
    topics: list[DeleteRecordsTopicResult] = []
