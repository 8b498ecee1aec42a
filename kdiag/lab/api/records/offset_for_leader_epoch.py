"""OffsetForLeaderEpoch: where a leader epoch ends on the leader.

Behaviour: the largest epoch that is not above the one asked about, and the first offset after it;
-1 for both if the log knows none. A follower or a consumer truncates, or learns that records it has
read are gone, by comparing (KIP-101, KIP-279, KIP-320).

Version notes: 1 tells the epoch; 2 checks the client's leader epoch; 3 says who asks.

Leaves out: nothing.
"""

from kdiag.lab.api.call import ApiCall
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.record_fetch import REFUSALS
from kdiag.wire.api.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from kdiag.wire.error_code import CODE_BY_NAME


def handle(request: OffsetForLeaderEpochRequest, call: ApiCall) -> OffsetForLeaderEpochResponse:
    """Tell where epochs end."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[_end(topic.topic, asked, call) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _end(topic: str, asked: OffsetForLeaderPartition, call: ApiCall) -> EpochEndOffset:
    result = EpochEndOffset(partition=asked.partition)
    try:
        key = TopicPartitionOperationKey(topic, asked.partition)
        partition = call.node.replicas.partition(key)
        partition.check_leader(asked.current_leader_epoch)
    except REFUSALS as error:
        result.error_code = CODE_BY_NAME[error.error]
        return result
    end = partition.epoch_end(asked.leader_epoch)
    if end is not None:
        result.leader_epoch, result.end_offset = end.epoch, end.end_offset
    return result
