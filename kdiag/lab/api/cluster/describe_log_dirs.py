"""DescribeLogDirs: where a broker keeps partitions, and how large they are.

Behaviour: a broker of a lab has one folder. Partitions that it does not have are left out, as by
Kafka; null asks for all. An offline log is left out, too: its size is not known.

Version notes: 1 is throttled differently; 3 has an error of the whole; 4 tells how large the disk
is and what is left of it (KIP-827); 5 tells folders that get no new partitions (KIP-1066): none.

Source: Kafka's `ReplicaManager.describeLogDirs`.

Leaves out: replicas that move between folders.
"""

import shutil
from collections.abc import Collection, Iterable

from kdiag.lab.api.call import ApiCall
from kdiag.lab.log.partition_log import PartitionLog
from kdiag.wire.api.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kdiag.wire.error_code import CODE_BY_NAME


def handle(request: DescribeLogDirsRequest, call: ApiCall) -> DescribeLogDirsResponse:
    """Tell the folder, and the sizes of the logs in it that are asked for."""
    logs = call.node.replicas.logs
    folder = logs.folder.resolve()
    result = DescribeLogDirsResult(log_dir=str(folder))
    try:
        disk = shutil.disk_usage(folder)
        result.total_bytes, result.usable_bytes = disk.total, disk.free
    except OSError:
        result.error_code = CODE_BY_NAME["KAFKA_STORAGE_ERROR"]
        return DescribeLogDirsResponse(results=[result])
    topics: dict[str, DescribeLogDirsTopic] = {}
    for topic, number in _asked(request, logs.logs.keys()):
        told = topics.setdefault(topic, DescribeLogDirsTopic(name=topic))
        told.partitions.append(_partition(number, logs.logs[topic, number]))
    result.topics = [*topics.values()]
    return DescribeLogDirsResponse(results=[result])


def _asked(
    request: DescribeLogDirsRequest, known: Collection[tuple[str, int]]
) -> Iterable[tuple[str, int]]:
    """Return those that are asked for and there."""
    if request.topics is None:
        return sorted(known)
    asked = {(each.topic, number) for each in request.topics for number in each.partitions}
    return sorted(asked & {*known})


def _partition(number: int, log: PartitionLog) -> DescribeLogDirsPartition:
    return DescribeLogDirsPartition(
        partition_index=number,
        partition_size=log.size_in_bytes,
        offset_lag=max(0, log.high_watermark - log.log_end_offset),
    )
