"""AddOffsetsToTxn: a group whose offsets a producer will commit in its transaction (KIP-98).

Behaviour: the partition of `__consumer_offsets` that keeps the group becomes part of the
transaction, so that its marker makes the offsets count. TxnOffsetCommit brings them, to the group's
coordinator.

Version notes: 2 knows PRODUCER_FENCED (KIP-588), 3 is flexible; 4 knows TRANSACTION_ABORTABLE.

Source: Kafka's `KafkaApis.handleAddOffsetsToTxnRequest`.

Leaves out: nothing.
"""

from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.transactions.producer_errors import told_code
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.runtime.coordinator_topic import GROUP_TOPIC
from kdiag.lab.coordinator.transaction.transaction_metadata import TxnPartition
from kdiag.lab.log.refusal import LogFileError
from kdiag.wire.api.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kdiag.wire.error_code import CODE_BY_NAME

_FENCED_SINCE: Final = 2


def handle(request: AddOffsetsToTxnRequest, call: ApiCall) -> AddOffsetsToTxnResponse | None:
    """Add the partition of a group to a transaction."""
    try:
        GROUP_TOPIC.ensure(call.node.controller)
    except (RequestRefusedError, LogFileError):
        return AddOffsetsToTxnResponse(error_code=CODE_BY_NAME["COORDINATOR_NOT_AVAILABLE"])
    number = GROUP_TOPIC.partition_of(request.group_id, call.node.controller.image)

    def respond(code: int) -> None:
        told = told_code(code, call.version, fenced_since=_FENCED_SINCE)
        call.respond(AddOffsetsToTxnResponse(error_code=told))

    call.node.transactions.add_partitions(
        request.transactional_id,
        (request.producer_id, request.producer_epoch),
        {TxnPartition(GROUP_TOPIC.name, number)},
        respond,
    )
    return None
