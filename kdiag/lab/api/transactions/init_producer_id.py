"""InitProducerId: an id and an epoch for a producer that numbers its records (KIP-98).

Behaviour: a producer without a transactional id gets a new id with epoch 0, whatever it had before:
brokers tell by id, epoch and sequence what they have already. One with a transactional id gets the
id that belongs to the name, with the next epoch: whoever had the name before is fenced, and its
ongoing transaction aborted; meanwhile the answer is CONCURRENT_TRANSACTIONS.

    a new producer                 id 17, epoch 0
    the same, after an error       id 18, epoch 0
    another one, another node      id 1000, epoch 0
    `payments`                     id 19, epoch 0
    `payments`, started again      id 19, epoch 1

Version notes: 3 gives the id and epoch that the producer had: it goes on with the next epoch if it
still has the name (KIP-360); 4 knows PRODUCER_FENCED, which is INVALID_PRODUCER_EPOCH before; 6 is
for transactions that survive their producer (KIP-939).

Source: Kafka's `KafkaApis.handleInitProducerIdRequest`.

Leaves out: transactions in two phases (KIP-939).
"""

from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.transactions.producer_errors import told_code
from kdiag.lab.coordinator.transaction.transaction_coordinator import ProducerIdAndEpoch
from kdiag.lab.log.refusal import LogFileError
from kdiag.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kdiag.wire.error_code import CODE_BY_NAME

_NONE: Final = -1
_FENCED_SINCE: Final = 4


def handle(request: InitProducerIdRequest, call: ApiCall) -> InitProducerIdResponse | None:
    """Give an id; each is given once in the cluster."""
    has_id, has_epoch = request.producer_id != _NONE, request.producer_epoch != _NONE
    if has_id is not has_epoch:
        return _response(ProducerIdAndEpoch(CODE_BY_NAME["INVALID_REQUEST"]), call)
    if request.transactional_id is None:
        return _response(_new_producer(call), call)
    expected = None
    if has_id:
        expected = ProducerIdAndEpoch(0, request.producer_id, request.producer_epoch)
    call.node.transactions.init_producer_id(
        request.transactional_id,
        request.transaction_timeout_ms,
        expected,
        lambda given: call.respond(_response(given, call)),
    )
    return None


def _new_producer(call: ApiCall) -> ProducerIdAndEpoch:
    try:
        return ProducerIdAndEpoch(0, call.node.producer_ids.generate(), 0)
    except LogFileError:
        return ProducerIdAndEpoch(CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"])  # as in Kafka


def _response(given: ProducerIdAndEpoch, call: ApiCall) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=told_code(given.error_code, call.version, fenced_since=_FENCED_SINCE),
        producer_id=given.producer_id,
        producer_epoch=given.producer_epoch,
    )
