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

from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.groups.topic_names import CommittedTopic, committed_topic
from kdiag.lab.coordinator.group.offsets.offset_requests import (
    Committer,
    ErrorCodes,
)
from kdiag.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

_IDS_SINCE: Final = 10


def handle(request: OffsetCommitRequest, call: ApiCall) -> None:
    """Commit offsets, and answer when they are written."""
    asked = [
        committed_topic(call, topic, by_id=call.version >= _IDS_SINCE) for topic in request.topics
    ]
    committer = Committer(
        request.group_id,
        request.member_id,
        request.group_instance_id,
        request.generation_id_or_member_epoch,
        call.version,
    )

    def respond(codes: ErrorCodes) -> None:
        call.respond(OffsetCommitResponse(topics=[_answer(each, codes) for each in asked]))

    offsets = [offset for topic in asked for offset in topic.offsets]
    call.node.groups.commit(committer, offsets, respond, retention_ms=request.retention_time_ms)


def _answer(topic: CommittedTopic, codes: ErrorCodes) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.asked.name,
        topic_id=topic.asked.topic_id,
        partitions=[OffsetCommitResponsePartition(*each) for each in topic.answers(codes)],
    )
