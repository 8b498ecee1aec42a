"""Commits or aborts a transaction.

API key 26, versions 0-5, flexible from 3.

Source: KIP-98, KIP-890 (v4, v5 epoch in the answer).
"""

from typing import Annotated

from kdiag.wire.schema import (
    Boolean,
    Int16,
    Int32,
    ProducerId,
    Struct,
    TransactionalId,
    ignorable,
    message,
    since,
)


@message(api_key=26, versions="0-5", flexible="3+")
class EndTxnRequest(Struct):
    """The request of EndTxn."""

    transactional_id: TransactionalId = ""
    producer_id: ProducerId = 0
    producer_epoch: Int16 = 0
    committed: Boolean = False


@message(api_key=26, versions="0-5", flexible="3+")
class EndTxnResponse(Struct):
    """The response of EndTxn."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id: Annotated[ProducerId, since("5+"), ignorable] = -1
    producer_epoch: Annotated[Int16, since("5+"), ignorable] = -1
