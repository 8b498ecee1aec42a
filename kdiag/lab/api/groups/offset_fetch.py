"""OffsetFetch: how far groups have read.

Behaviour: a partition of which nothing is committed has offset -1, and so has one of a group that
nobody knows. No list of topics is all that are committed.

    stable offsets are asked for     UNSTABLE_OFFSET_COMMIT while a transaction has others
    another node coordinates         NOT_COORDINATOR, of the whole or of each group

Version notes: 2 takes null for all topics, and has an error of the whole; 5 tells leader epochs
(KIP-320); 7 asks for stable offsets (KIP-447); 8 has many groups (KIP-709); 9 member epochs
(KIP-848); 10 topic ids.

Source: Kafka's `KafkaApis.handleOffsetFetchRequest`, `OffsetMetadataManager.fetchOffsets`.

Leaves out: ZooKeeper, from which version 0 of old brokers read. What is not replicated yet may be
told: a lab does not keep what was before.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.groups.topic_names import topic_of
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.offsets.offset_requests import (
    FetchedOffset,
    check_fetch,
    fetch_offsets,
)
from kdiag.lab.coordinator.group.offsets.offset_store import PartitionOfTopic
from kdiag.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kdiag.wire.schema import ZERO_UUID

_ERROR_SINCE: Final = 2
_GROUPS_SINCE: Final = 8
_IDS_SINCE: Final = 10


class _Named(NamedTuple):
    """A topic that is asked for: its name, its id, and the error code if it is not there."""

    name: str
    topic_id: bytes
    fault: int
    numbers: list[int]


def handle(request: OffsetFetchRequest, call: ApiCall) -> OffsetFetchResponse:
    """Tell offsets."""
    if call.version >= _GROUPS_SINCE:
        must_be_stable = request.require_stable
        return OffsetFetchResponse(
            groups=[_of_group(each, call, must_be_stable=must_be_stable) for each in request.groups]
        )
    return _of_one(request, call)


def _of_group(
    asked: OffsetFetchRequestGroup, call: ApiCall, *, must_be_stable: bool
) -> OffsetFetchResponseGroup:
    named = None if asked.topics is None else [_named(topic, call) for topic in asked.topics]
    wanted = None if named is None else [each for each in named if not each.fault]
    try:
        fetched = _fetch(asked, wanted, call, must_be_stable=must_be_stable)
    except RequestRefusedError as error:
        return OffsetFetchResponseGroup(group_id=asked.group_id, error_code=error.code)
    topics = _all_named(fetched, call) if named is None else named
    return OffsetFetchResponseGroup(
        group_id=asked.group_id,
        topics=[
            OffsetFetchResponseTopics(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    _partition(
                        number,
                        FetchedOffset(topic.fault)
                        if topic.fault
                        else fetched[PartitionOfTopic(topic.name, number)],
                    )
                    for number in topic.numbers
                ],
            )
            for topic in topics
        ],
    )


def _of_one(request: OffsetFetchRequest, call: ApiCall) -> OffsetFetchResponse:
    """Return the response of versions up to 7."""
    named = (
        None
        if request.topics is None
        else [_Named(each.name, ZERO_UUID, 0, each.partition_indexes) for each in request.topics]
    )
    asked = OffsetFetchRequestGroup(group_id=request.group_id)
    try:
        fetched = _fetch(asked, named, call, must_be_stable=request.require_stable)
    except RequestRefusedError as error:
        if call.version >= _ERROR_SINCE:
            return OffsetFetchResponse(error_code=error.code)
        return OffsetFetchResponse(topics=_refused(request.topics or [], error.code))
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    _old_partition(number, fetched[PartitionOfTopic(topic.name, number)])
                    for number in topic.numbers
                ],
            )
            for topic in (_all_named(fetched, call) if named is None else named)
        ]
    )


def _fetch(
    asked: OffsetFetchRequestGroup,
    topics: Iterable[_Named] | None,
    call: ApiCall,
    *,
    must_be_stable: bool,
) -> dict[PartitionOfTopic, FetchedOffset]:
    """Return the offsets of a group.

    Raises:
        RequestRefusedError: with the error of the group.
    """
    shard = call.node.groups.shard_of(asked.group_id)
    check_fetch(shard, asked.group_id, asked.member_id, asked.member_epoch)
    partitions = None
    if topics is not None:
        partitions = [
            PartitionOfTopic(each.name, number) for each in topics for number in each.numbers
        ]
    return fetch_offsets(shard, asked.group_id, partitions, must_be_stable=must_be_stable)


def _named(asked: OffsetFetchRequestTopics, call: ApiCall) -> _Named:
    if call.version < _IDS_SINCE:
        return _Named(asked.name, ZERO_UUID, 0, asked.partition_indexes)
    try:
        topic = topic_of(call, "", asked.topic_id, by_id=True)
    except RequestRefusedError as error:
        return _Named("", asked.topic_id, error.code, asked.partition_indexes)
    return _Named(topic.name, asked.topic_id, 0, asked.partition_indexes)


def _all_named(fetched: Iterable[PartitionOfTopic], call: ApiCall) -> list[_Named]:
    """Return the topics of all that was fetched; by id, those that there are."""
    numbers: dict[str, list[int]] = {}
    for topic, number in fetched:
        numbers.setdefault(topic, []).append(number)
    image = call.node.controller.image
    if call.version < _IDS_SINCE:
        return [_Named(name, ZERO_UUID, 0, each) for name, each in numbers.items()]
    return [
        _Named(name, image.topics[name].topic_id, 0, each)
        for name, each in numbers.items()
        if name in image.topics
    ]


def _partition(number: int, fetched: FetchedOffset) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=number,
        committed_offset=fetched.offset,
        committed_leader_epoch=fetched.leader_epoch,
        metadata=fetched.metadata,
        error_code=fetched.error_code,
    )


def _old_partition(number: int, fetched: FetchedOffset) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        partition_index=number,
        committed_offset=fetched.offset,
        committed_leader_epoch=fetched.leader_epoch,
        metadata=fetched.metadata,
        error_code=fetched.error_code,
    )


def _refused(
    topics: Iterable[OffsetFetchRequestTopic], error_code: int
) -> list[OffsetFetchResponseTopic]:
    """Return what is told of each partition by versions without an error of the whole."""
    return [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                _old_partition(number, FetchedOffset(error_code))
                for number in topic.partition_indexes
            ],
        )
        for topic in topics
    ]
