"""OffsetCommit: how far a group has read.

Behaviour: answered when the offsets are written. Each partition has its error: one that does not
exist is not committed; neither is any if the member may not.

    a member                       of its generation, not while an assignment is waited for
    nobody's member, generation -1 of a group without members: administrators, simple consumers

Version notes: 0 has no member; 1 has a time for each partition, which is not heeded; 2 to 4 may say
how long offsets are kept; 6 has leader epochs (KIP-320); 7 static members (KIP-345); 9 member
epochs (KIP-848), and tells GROUP_ID_NOT_FOUND; 10 has topic ids.

Source: Kafka's `KafkaApis.handleOffsetCommitRequest`.

Leaves out: ZooKeeper, into which version 0 of old brokers wrote: it is written as any other.
"""

from typing import Final, NamedTuple

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.groups.topic_names import partition_fault, topic_of
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.offsets.offset_requests import (
    Committer,
    ErrorCodes,
    OffsetToCommit,
)
from kdiag.lab.coordinator.group.offsets.offset_store import PartitionOfTopic
from kdiag.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

_IDS_SINCE: Final = 10


class _AskedTopic(NamedTuple):
    """What is asked of a topic: its offsets, and what is wrong with some."""

    asked: OffsetCommitRequestTopic
    name: str
    faults: dict[int, int]

    @property
    def offsets(self) -> list[OffsetToCommit]:
        return [
            OffsetToCommit(
                PartitionOfTopic(self.name, each.partition_index),
                each.committed_offset,
                each.committed_leader_epoch,
                each.committed_metadata or "",
            )
            for each in self.asked.partitions
            if not self.faults[each.partition_index]
        ]

    def answered(self, codes: ErrorCodes) -> OffsetCommitResponseTopic:
        return OffsetCommitResponseTopic(
            name=self.asked.name,
            topic_id=self.asked.topic_id,
            partitions=[
                OffsetCommitResponsePartition(
                    partition_index=number,
                    error_code=fault or codes[PartitionOfTopic(self.name, number)],
                )
                for number, fault in self.faults.items()
            ],
        )


def handle(request: OffsetCommitRequest, call: ApiCall) -> None:
    """Commit offsets, and answer when they are written."""
    asked = [_read(topic, call) for topic in request.topics]
    committer = Committer(
        request.group_id,
        request.member_id,
        request.group_instance_id,
        request.generation_id_or_member_epoch,
        call.version,
    )

    def respond(codes: ErrorCodes) -> None:
        call.respond(OffsetCommitResponse(topics=[each.answered(codes) for each in asked]))

    offsets = [offset for topic in asked for offset in topic.offsets]
    call.node.groups.commit(committer, offsets, respond, retention_ms=request.retention_time_ms)


def _read(asked: OffsetCommitRequestTopic, call: ApiCall) -> _AskedTopic:
    numbers = [each.partition_index for each in asked.partitions]
    try:
        topic = topic_of(call, asked.name, asked.topic_id, by_id=call.version >= _IDS_SINCE)
    except RequestRefusedError as error:
        return _AskedTopic(asked, asked.name, dict.fromkeys(numbers, error.code))
    faults = {number: partition_fault(topic, number) for number in numbers}
    return _AskedTopic(asked, topic.name, faults)
