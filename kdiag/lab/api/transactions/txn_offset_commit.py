"""TxnOffsetCommit: offsets of a group that count when the producer's transaction is committed.

Behaviour: the group's coordinator writes them as part of the transaction; until the marker comes
OffsetFetch does not tell them, and says UNSTABLE_OFFSET_COMMIT to who asks for stable ones.

Version notes: 2 has leader epochs; 3 says which member commits, so that one that was expelled is
fenced (KIP-447); 5 adds the group's partition to the transaction by itself (KIP-890); 6 names
topics by id.

Source: Kafka's `KafkaApis.handleTxnOffsetCommitRequest`.

Leaves out: verification that the group's partition was added, before version 5.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.groups.topic_names import partition_fault, topic_of
from kdiag.lab.api.transactions.producer_errors import told_code
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.offsets.offset_requests import (
    Committer,
    ErrorCodes,
    OffsetToCommit,
)
from kdiag.lab.coordinator.group.offsets.offset_store import PartitionOfTopic
from kdiag.lab.coordinator.runtime.coordinator_runtime import ProducerOfRecords
from kdiag.lab.coordinator.runtime.coordinator_topic import GROUP_TOPIC
from kdiag.lab.coordinator.transaction.add_partitions_manager import TransactionalProducer
from kdiag.lab.coordinator.transaction.transaction_metadata import TxnPartition
from kdiag.wire.api.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kdiag.wire.error_code import CODE_BY_NAME

_IDS_SINCE: Final = 6
_FIRST_WITH_IMPLICIT_ADD: Final = 5


class _TopicOffsets(NamedTuple):
    """The offsets of a topic, and what is wrong with some."""

    asked: TxnOffsetCommitRequestTopic
    name: str
    faults: Mapping[int, int]

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

    def answered(self, codes: ErrorCodes) -> TxnOffsetCommitResponseTopic:
        return TxnOffsetCommitResponseTopic(
            name=self.asked.name,
            topic_id=self.asked.topic_id,
            partitions=[
                TxnOffsetCommitResponsePartition(
                    partition_index=number,
                    error_code=fault or codes[PartitionOfTopic(self.name, number)],
                )
                for number, fault in self.faults.items()
            ],
        )


def handle(request: TxnOffsetCommitRequest, call: ApiCall) -> None:
    """Commit offsets in a transaction, and answer when they are written."""
    topics = [_read(topic, call) for topic in request.topics]
    offsets = [offset for topic in topics for offset in topic.offsets]

    def respond(codes: ErrorCodes) -> None:
        call.respond(TxnOffsetCommitResponse(topics=[each.answered(codes) for each in topics]))

    def commit(code: int) -> None:
        if code:
            told = told_code(code, call.version, fenced_since=_FIRST_WITH_IMPLICIT_ADD + 1)
            respond({each.partition: told for each in offsets})
            return
        call.node.groups.commit(
            _committer(request, call),
            offsets,
            respond,
            producer=ProducerOfRecords(request.producer_id, request.producer_epoch),
        )

    if call.version < _FIRST_WITH_IMPLICIT_ADD or not offsets:
        commit(0)
        return
    number = GROUP_TOPIC.partition_of(request.group_id, call.node.controller.image)
    partition = TxnPartition(GROUP_TOPIC.name, number)
    call.node.added_partitions.add(
        TransactionalProducer(
            request.transactional_id, request.producer_id, request.producer_epoch
        ),
        (partition,),
        lambda codes: commit(_told(codes[partition])),
    )


def _told(code: int) -> int:
    """Return what a client is told of the transaction's coordinator: it has asked the group's."""
    if code == CODE_BY_NAME["NOT_COORDINATOR"]:
        return CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"]
    return code


def _committer(request: TxnOffsetCommitRequest, call: ApiCall) -> Committer:
    return Committer(
        request.group_id,
        request.member_id,
        request.group_instance_id,
        request.generation_id_or_member_epoch,
        call.version,
        is_transactional=True,
    )


def _read(asked: TxnOffsetCommitRequestTopic, call: ApiCall) -> _TopicOffsets:
    numbers = [each.partition_index for each in asked.partitions]
    try:
        topic = topic_of(call, asked.name, asked.topic_id, by_id=call.version >= _IDS_SINCE)
    except RequestRefusedError as error:
        return _TopicOffsets(asked, asked.name, dict.fromkeys(numbers, error.code))
    return _TopicOffsets(
        asked, topic.name, {number: partition_fault(topic, number) for number in numbers}
    )
