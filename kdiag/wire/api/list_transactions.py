"""Lists the transactions that a coordinator knows, by state, producer, duration or name.

API key 66, versions 0-2, flexible from 0.

Source: KIP-664, KIP-994 (v1 duration), KIP-1152 (v2 pattern).
"""

from typing import Annotated

from kdiag.wire.schema import (
    Int16,
    Int32,
    Int64,
    ProducerId,
    String,
    Struct,
    TransactionalId,
    message,
    since,
)


@message(api_key=66, versions="0-2", flexible="0+")
class ListTransactionsRequest(Struct):
    """The request of ListTransactions."""

    state_filters: list[String] = []
    producer_id_filters: list[ProducerId] = []
    duration_filter: Annotated[Int64, since("1+")] = -1
    transactional_id_pattern: Annotated[String | None, since("2+")] = None


class TransactionState(Struct):
    """One element of `transaction_states` in ListTransactionsResponse."""

    transactional_id: TransactionalId = ""
    producer_id: ProducerId = 0
    transaction_state: String = ""


@message(api_key=66, versions="0-2", flexible="0+")
class ListTransactionsResponse(Struct):
    """The response of ListTransactions."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    unknown_state_filters: list[String] = []
    transaction_states: list[TransactionState] = []
