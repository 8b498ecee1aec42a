"""The topics of requests about offsets: by name or id, whether they exist, and what is committed.

    named, has = topic_of(call, name="orders", topic_id=ZERO_UUID)

Clients that speak topic ids are told UNKNOWN_TOPIC_ID, the others UNKNOWN_TOPIC_OR_PARTITION.

Source: Kafka's `KafkaApis.handleOffsetCommitRequest`; KIP-848.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kdiag.lab.api.call import ApiCall
from kdiag.lab.controller.cluster_image import TopicImage
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.offsets.offset_requests import ErrorCodes, OffsetToCommit
from kdiag.lab.coordinator.group.offsets.offset_store import PartitionOfTopic
from kdiag.wire.api.offset_commit import OffsetCommitRequestTopic
from kdiag.wire.api.txn_offset_commit import TxnOffsetCommitRequestTopic
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.schema import ZERO_UUID


class CommittedTopic(NamedTuple):
    """A topic of a request that commits offsets.

    Attributes:
        asked: as it stands in the request.
        name: of the topic, also if it was asked for by id.
        faults: the error code of each partition before anything is committed; 0 if there is none.
    """

    asked: OffsetCommitRequestTopic | TxnOffsetCommitRequestTopic
    name: str
    faults: Mapping[int, int]

    @property
    def offsets(self) -> list[OffsetToCommit]:
        """Return what can be committed."""
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

    def answers(self, codes: ErrorCodes) -> Iterator[tuple[int, int]]:
        """Yield each partition with its error code, given those of what was committed."""
        for number, fault in self.faults.items():
            yield number, fault or codes[PartitionOfTopic(self.name, number)]


def committed_topic(
    call: ApiCall, asked: OffsetCommitRequestTopic | TxnOffsetCommitRequestTopic, *, by_id: bool
) -> CommittedTopic:
    """Return a topic of a request that commits offsets, by its name or by its id."""
    numbers = [each.partition_index for each in asked.partitions]
    try:
        topic = topic_of(call, asked.name, asked.topic_id, by_id=by_id)
    except RequestRefusedError as error:
        return CommittedTopic(asked, asked.name, dict.fromkeys(numbers, error.code))
    faults = {number: partition_fault(topic, number) for number in numbers}
    return CommittedTopic(asked, topic.name, faults)


def topic_of(call: ApiCall, name: str, topic_id: bytes, *, by_id: bool) -> TopicImage:
    """Return a topic.

    Args:
        call: of the request.
        name: its name, if it is asked for by name.
        topic_id: its id, if it is asked for by id.
        by_id: which of the two counts.

    Raises:
        RequestRefusedError: UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION.
    """
    image = call.node.controller.image
    if by_id:
        found = None if topic_id == ZERO_UUID else image.topic_of(topic_id)
        if found is None:
            raise RequestRefusedError("UNKNOWN_TOPIC_ID", "no topic has the id")
        return found
    named = image.topics.get(name)
    if named is None:
        raise RequestRefusedError("UNKNOWN_TOPIC_OR_PARTITION", f"there is no topic {name!r}")
    return named


def partition_fault(topic: TopicImage, partition: int) -> int:
    """Return the error code of a partition that a topic has not; 0 if it has it."""
    has = 0 <= partition < len(topic.partitions)
    return 0 if has else CODE_BY_NAME["UNKNOWN_TOPIC_OR_PARTITION"]
