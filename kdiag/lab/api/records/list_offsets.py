"""ListOffsets: the offset of a time, or of a place such as the end.

Behaviour: a time gives the first record that is not older, -1 if there is none. A consumer is told
nothing beyond what it may read: the end is the high watermark, or the last stable offset for
`read_committed`; no end until a new leader knows what is replicated (KIP-207).

    -2 earliest    -1 latest    -3 the largest timestamp (7)    -4 earliest local (8)
    -5 latest tiered (9)        -6 earliest that is to be uploaded (11)

Version notes: 2 has the isolation level, 4 leader epochs (KIP-320), 5 the error of an end that is
not known, 7 the largest timestamp (KIP-734), 8, 9 and 11 what tiered storage has (KIP-405,
KIP-1005, KIP-1023), 10 a timeout.

Leaves out: version 0, which asks for the beginnings of segments; tiers, of which there are none:
their offsets are -1.
"""

from collections import Counter
from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.log.offset_lookup import OffsetPlace
from kdiag.lab.log.partition_log import FetchIsolation
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.record_fetch import REFUSALS
from kdiag.wire.api.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from kdiag.wire.error_code import CODE_BY_NAME

EARLIEST_PENDING_UPLOAD: Final = -6
_FIRST_WITH_EPOCHS: Final = 4
_FIRST_WITH_NOT_AVAILABLE: Final = 5
_FIRST_WITH: Final = {
    OffsetPlace.LATEST: 0,
    OffsetPlace.EARLIEST: 0,
    OffsetPlace.MAX: 7,
    OffsetPlace.EARLIEST_LOCAL: 8,
    OffsetPlace.LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
"""The first version with a place."""


def handle(request: ListOffsetsRequest, call: ApiCall) -> ListOffsetsResponse:
    """Find offsets."""
    isolation = _isolation(request)
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(name=topic.name, partitions=_topic(topic, isolation, call))
            for topic in request.topics
        ]
    )


def _topic(
    topic: ListOffsetsTopic, isolation: FetchIsolation, call: ApiCall
) -> list[ListOffsetsPartitionResponse]:
    """Return the offsets of a topic; a partition that stands twice is refused."""
    counts = Counter(asked.partition_index for asked in topic.partitions)
    by_number = {asked.partition_index: asked for asked in topic.partitions}
    return [
        _find(TopicPartitionOperationKey(topic.name, number), asked, isolation, call)
        if counts[number] == 1
        else ListOffsetsPartitionResponse(
            partition_index=number, error_code=CODE_BY_NAME["INVALID_REQUEST"]
        )
        for number, asked in by_number.items()
    ]


def _isolation(request: ListOffsetsRequest) -> FetchIsolation:
    if request.replica_id >= 0:
        return FetchIsolation.LOG_END
    return (
        FetchIsolation.TXN_COMMITTED if request.isolation_level else FetchIsolation.HIGH_WATERMARK
    )


def _find(
    key: TopicPartitionOperationKey,
    asked: ListOffsetsPartition,
    isolation: FetchIsolation,
    call: ApiCall,
) -> ListOffsetsPartitionResponse:
    response = ListOffsetsPartitionResponse(partition_index=key.partition)
    try:
        _check_place(asked.timestamp, call.version)
        partition = call.node.replicas.partition(key)
        partition.check_leader(asked.current_leader_epoch)
        if asked.timestamp in {OffsetPlace.LATEST_TIERED, EARLIEST_PENDING_UPLOAD}:
            return response  # there are no tiers
        found = partition.find_offset(asked.timestamp, isolation, asked.current_leader_epoch)
    except REFUSALS as error:
        response.error_code = CODE_BY_NAME[_error_for(error.error, call.version)]
        return response
    if found is not None:
        response.timestamp, response.offset = found.timestamp, found.offset
        if call.version >= _FIRST_WITH_EPOCHS:
            response.leader_epoch = found.leader_epoch
    return response


def _error_for(error: str, version: int) -> str:
    """Return an error by a name that clients of a version know."""
    is_too_new = error == "OFFSET_NOT_AVAILABLE" and version < _FIRST_WITH_NOT_AVAILABLE
    return "LEADER_NOT_AVAILABLE" if is_too_new else error


def _check_place(timestamp: int, version: int) -> None:
    """Refuse a place that the version has not.

    Raises:
        RequestRefusedError: UNSUPPORTED_VERSION.
    """
    if timestamp < 0 and version < _FIRST_WITH.get(timestamp, version + 1):
        why = f"version {version} has no place {timestamp}"
        raise RequestRefusedError("UNSUPPORTED_VERSION", why)
