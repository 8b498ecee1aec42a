"""TxnOffsetCommit: offsets of a group that count when the producer's transaction is committed.

Behaviour: the group's coordinator writes them as part of the transaction; until the marker comes
OffsetFetch does not tell them, and says UNSTABLE_OFFSET_COMMIT to who asks for stable ones.

Version notes: 2 has leader epochs; 3 says which member commits, so that one that was expelled is
fenced (KIP-447); 5 adds the group's partition to the transaction by itself (KIP-890); 6 names
topics by id.

Source: Kafka's `KafkaApis.handleTxnOffsetCommitRequest`.

Leaves out: verification that the group's partition was added, before version 5.
"""

from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.groups.topic_names import CommittedTopic, committed_topic
from kdiag.lab.api.transactions.producer_errors import told_code
from kdiag.lab.coordinator.group.offsets.offset_requests import (
    Committer,
    ErrorCodes,
)
from kdiag.lab.coordinator.runtime.coordinator_runtime import ProducerOfRecords
from kdiag.lab.coordinator.runtime.coordinator_topic import GROUP_TOPIC
from kdiag.lab.coordinator.transaction.add_partitions_manager import TransactionalProducer
from kdiag.lab.coordinator.transaction.transaction_metadata import TxnPartition
from kdiag.wire.api.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kdiag.wire.error_code import CODE_BY_NAME

_IDS_SINCE: Final = 6
_FIRST_WITH_IMPLICIT_ADD: Final = 5


def handle(request: TxnOffsetCommitRequest, call: ApiCall) -> None:
    """Commit offsets in a transaction, and answer when they are written."""
    topics = [
        committed_topic(call, topic, by_id=call.version >= _IDS_SINCE) for topic in request.topics
    ]
    offsets = [offset for topic in topics for offset in topic.offsets]

    def respond(codes: ErrorCodes) -> None:
        call.respond(TxnOffsetCommitResponse(topics=[_answer(each, codes) for each in topics]))

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


def _answer(topic: CommittedTopic, codes: ErrorCodes) -> TxnOffsetCommitResponseTopic:
    return TxnOffsetCommitResponseTopic(
        name=topic.asked.name,
        topic_id=topic.asked.topic_id,
        partitions=[TxnOffsetCommitResponsePartition(*each) for each in topic.answers(codes)],
    )
