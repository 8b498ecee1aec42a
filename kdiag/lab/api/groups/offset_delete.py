"""OffsetDelete: forget how far a group has read of some partitions (KIP-496).

Behaviour: answered when that is written.

    members read the topic             GROUP_SUBSCRIBED_TO_TOPIC, of the partition
    members that are no consumers      NON_EMPTY_GROUP, of the whole: nobody knows what they read
    nobody knows the group             GROUP_ID_NOT_FOUND
    the partition does not exist       UNKNOWN_TOPIC_OR_PARTITION

Version notes: there is one.

Source: Kafka's `KafkaApis.handleOffsetDeleteRequest`, `OffsetMetadataManager.deleteOffsets`.

Leaves out: nothing.
"""

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.groups.topic_names import partition_fault, topic_of
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.offsets.offset_requests import delete_offsets
from kdiag.lab.coordinator.group.offsets.offset_store import PartitionOfTopic
from kdiag.wire.api.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from kdiag.wire.schema import ZERO_UUID


def handle(request: OffsetDeleteRequest, call: ApiCall) -> OffsetDeleteResponse | None:
    """Forget offsets, and answer when that is written."""
    codes = _faults(request, call)
    try:
        shard = call.node.groups.named_shard_of(request.group_id)
        known = [partition for partition, fault in codes.items() if not fault]
        records, deleted = delete_offsets(shard, request.group_id, known)
    except RequestRefusedError as error:
        return OffsetDeleteResponse(error_code=error.code)
    codes.update(deleted)

    def respond(error_code: int) -> None:
        if error_code:
            call.respond(OffsetDeleteResponse(error_code=error_code))
        else:
            call.respond(OffsetDeleteResponse(topics=_answered(request, codes)))

    call.node.groups.write(shard, records, respond)
    return None


def _faults(request: OffsetDeleteRequest, call: ApiCall) -> dict[PartitionOfTopic, int]:
    """Return the error code of each partition that is asked for; 0 if there is one."""
    codes = {}
    for topic in request.topics:
        for each in topic.partitions:
            key = PartitionOfTopic(topic.name, each.partition_index)
            try:
                image = topic_of(call, topic.name, ZERO_UUID, by_id=False)
                codes[key] = partition_fault(image, each.partition_index)
            except RequestRefusedError as error:
                codes[key] = error.code
    return codes


def _answered(
    request: OffsetDeleteRequest, codes: dict[PartitionOfTopic, int]
) -> list[OffsetDeleteResponseTopic]:
    return [
        OffsetDeleteResponseTopic(
            name=topic.name,
            partitions=[
                OffsetDeleteResponsePartition(
                    partition_index=each.partition_index,
                    error_code=codes[PartitionOfTopic(topic.name, each.partition_index)],
                )
                for each in topic.partitions
            ],
        )
        for topic in request.topics
    ]
