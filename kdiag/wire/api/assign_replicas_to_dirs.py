"""A broker tells the controller in which log directory its replicas lie.

API key 73, version 0, flexible from 0.

Source: KIP-858.
"""

from kdiag.wire.schema import ZERO_UUID, BrokerId, Int16, Int32, Int64, Struct, Uuid, message


class PartitionData(Struct):
    """One element of `partitions` in TopicData."""

    partition_index: Int32 = 0


class TopicData(Struct):
    """One element of `topics` in DirectoryData."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = []


class DirectoryData(Struct):
    """One element of `directories` in AssignReplicasToDirsRequest."""

    id: Uuid = ZERO_UUID
    topics: list[TopicData] = []


@message(api_key=73, versions="0", flexible="0+")
class AssignReplicasToDirsRequest(Struct):
    """The request of AssignReplicasToDirs."""

    broker_id: BrokerId = 0
    broker_epoch: Int64 = -1
    directories: list[DirectoryData] = []


class ResponsePartitionData(Struct):
    """One element of `partitions` in ResponseTopicData."""

    partition_index: Int32 = 0
    error_code: Int16 = 0


class ResponseTopicData(Struct):
    """One element of `topics` in ResponseDirectoryData."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[ResponsePartitionData] = []


class ResponseDirectoryData(Struct):
    """One element of `directories` in AssignReplicasToDirsResponse."""

    id: Uuid = ZERO_UUID
    topics: list[ResponseTopicData] = []


@message(api_key=73, versions="0", flexible="0+")
class AssignReplicasToDirsResponse(Struct):
    """The response of AssignReplicasToDirs."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    directories: list[ResponseDirectoryData] = []
