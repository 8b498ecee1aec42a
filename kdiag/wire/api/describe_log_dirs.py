"""Reports the log directories of a broker: their replicas, sizes, lags and free space.

API key 35, versions 0-5, flexible from 2. Today's Kafka speaks 1-5 only.

Source: KIP-113, KIP-827 (v4 disk sizes).
"""

from typing import Annotated

from kdiag.wire.schema import (
    Boolean,
    Int16,
    Int32,
    Int64,
    String,
    Struct,
    TopicName,
    ignorable,
    message,
    since,
)


class DescribableLogDirTopic(Struct):
    """One element of `topics` in DescribeLogDirsRequest."""

    topic: TopicName = ""
    partitions: list[Int32] = []


@message(api_key=35, versions="0-5", flexible="2+")
class DescribeLogDirsRequest(Struct):
    """The request of DescribeLogDirs."""

    topics: list[DescribableLogDirTopic] | None = []


class DescribeLogDirsPartition(Struct):
    """One element of `partitions` in DescribeLogDirsTopic."""

    partition_index: Int32 = 0
    partition_size: Int64 = 0
    offset_lag: Int64 = 0
    is_future_key: Boolean = False


class DescribeLogDirsTopic(Struct):
    """One element of `topics` in DescribeLogDirsResult."""

    name: TopicName = ""
    partitions: list[DescribeLogDirsPartition] = []


class DescribeLogDirsResult(Struct):
    """One element of `results` in DescribeLogDirsResponse."""

    error_code: Int16 = 0
    log_dir: String = ""
    topics: list[DescribeLogDirsTopic] = []
    total_bytes: Annotated[Int64, since("4+"), ignorable] = -1
    usable_bytes: Annotated[Int64, since("4+"), ignorable] = -1
    is_cordoned: Annotated[Boolean, since("5+"), ignorable] = False


@message(api_key=35, versions="0-5", flexible="2+")
class DescribeLogDirsResponse(Struct):
    """The response of DescribeLogDirs."""

    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, since("3+"), ignorable] = 0
    results: list[DescribeLogDirsResult] = []
