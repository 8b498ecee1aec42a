"""ListTransactions: the transactional ids that this node coordinates (KIP-664).

Behaviour: all of them, or those of some states, of some producer ids, or with a transaction that
goes on for longer than a time. States that there are not are told apart. While a partition is being
read, COORDINATOR_LOAD_IN_PROGRESS.

Version notes: 1 has the duration (KIP-994), 2 a pattern of names (KIP-1152): one that is not a
regular expression is INVALID_REGULAR_EXPRESSION.

Source: Kafka's `TransactionStateManager.listTransactionStates`.

Leaves out: patterns that Java knows and Python does not.
"""

import re

from kdiag.lab.api.call import ApiCall
from kdiag.lab.coordinator.transaction.transaction_metadata import (
    TransactionMetadata,
)
from kdiag.lab.coordinator.transaction.transaction_state import (
    STATE_BY_TEXT,
)
from kdiag.wire.api.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from kdiag.wire.api.list_transactions import TransactionState as ListedTransaction
from kdiag.wire.error_code import CODE_BY_NAME


def handle(request: ListTransactionsRequest, call: ApiCall) -> ListTransactionsResponse:
    """List transactional ids."""
    transactions = call.node.transactions
    if transactions.runtime.is_loading:
        return _refusal("COORDINATOR_LOAD_IN_PROGRESS")
    try:
        pattern = re.compile(request.transactional_id_pattern or ".*", re.DOTALL)
    except (re.error, RecursionError, OverflowError):
        return _refusal("INVALID_REGULAR_EXPRESSION")
    return ListTransactionsResponse(
        unknown_state_filters=[each for each in request.state_filters if each not in STATE_BY_TEXT],
        transaction_states=[
            ListedTransaction(
                transactional_id=each.transactional_id,
                producer_id=each.now.producer_id,
                transaction_state=each.now.state.text,
            )
            for each in transactions.transactions
            if _is_asked(each, request, transactions.now_ms)
            and pattern.fullmatch(each.transactional_id)
        ],
    )


def _is_asked(metadata: TransactionMetadata, request: ListTransactionsRequest, now_ms: int) -> bool:
    now = metadata.now
    states, producers = request.state_filters, request.producer_id_filters
    is_state = not states or now.state.text in states
    is_producer = not producers or now.producer_id in producers
    # As in Kafka an id without a transaction is older than any duration: it began at -1.
    is_long = request.duration_filter < 0 or now_ms - now.start_ms > request.duration_filter
    return is_state and is_producer and is_long


def _refusal(error: str) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=CODE_BY_NAME[error])
