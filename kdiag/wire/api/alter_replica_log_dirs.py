"""Moves replicas between the log directories of one broker.

API key 34, versions 0-2, flexible from 2. Today's Kafka speaks 1-2 only.

Source: KIP-113.
"""

from kdiag.wire.schema import Int16, Int32, String, Struct, TopicName, message


class AlterReplicaLogDirTopic(Struct):
    """One element of `topics` in AlterReplicaLogDir."""

    name: TopicName = ""
    partitions: list[Int32] = []


class AlterReplicaLogDir(Struct):
    """One element of `dirs` in AlterReplicaLogDirsRequest."""

    path: String = ""
    topics: list[AlterReplicaLogDirTopic] = []


@message(api_key=34, versions="0-2", flexible="2+")
class AlterReplicaLogDirsRequest(Struct):
    """The request of AlterReplicaLogDirs."""

    dirs: list[AlterReplicaLogDir] = []


class AlterReplicaLogDirPartitionResult(Struct):
    """One element of `partitions` in AlterReplicaLogDirTopicResult."""

    partition_index: Int32 = 0
    error_code: Int16 = 0


class AlterReplicaLogDirTopicResult(Struct):
    """One element of `results` in AlterReplicaLogDirsResponse."""

    topic_name: TopicName = ""
    partitions: list[AlterReplicaLogDirPartitionResult] = []


@message(api_key=34, versions="0-2", flexible="2+")
class AlterReplicaLogDirsResponse(Struct):
    """The response of AlterReplicaLogDirs."""

    throttle_time_ms: Int32 = 0
    results: list[AlterReplicaLogDirTopicResult] = []
