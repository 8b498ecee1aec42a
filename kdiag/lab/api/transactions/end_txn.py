"""EndTxn: commit or abort the transaction of a producer (KIP-98).

Behaviour: answered when the end is written and can no longer be lost; the markers follow. Until all
of them are there, other requests of the producer are CONCURRENT_TRANSACTIONS.

Version notes: 2 knows PRODUCER_FENCED (KIP-588); 4 knows TRANSACTION_ABORTABLE; 5 bumps the epoch
and tells it, or another producer id where the epochs are exhausted (KIP-890).

Source: Kafka's `KafkaApis.handleEndTxnRequest`.

Leaves out: nothing.
"""

from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.transactions.producer_errors import told_code
from kdiag.lab.coordinator.transaction.ending import EndRequest
from kdiag.lab.coordinator.transaction.transaction_coordinator import ProducerIdAndEpoch
from kdiag.lab.coordinator.transaction.transaction_metadata import EPOCH_BUMPS_SINCE
from kdiag.wire.api.end_txn import EndTxnRequest, EndTxnResponse

_FENCED_SINCE: Final = 2
_FIRST_WITH_BUMPS: Final = 5


def handle(request: EndTxnRequest, call: ApiCall) -> None:
    """End a transaction."""
    is_bumping = call.version >= _FIRST_WITH_BUMPS

    def respond(ended: ProducerIdAndEpoch) -> None:
        response = EndTxnResponse(
            error_code=told_code(ended.error_code, call.version, fenced_since=_FENCED_SINCE)
        )
        if is_bumping:
            response.producer_id = ended.producer_id
            response.producer_epoch = ended.producer_epoch
        call.respond(response)

    asked = EndRequest(
        request.producer_id,
        request.producer_epoch,
        request.committed,
        EPOCH_BUMPS_SINCE if is_bumping else 0,
    )
    call.node.transactions.end(request.transactional_id, asked, respond)
