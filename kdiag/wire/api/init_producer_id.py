"""Gives a producer the id and epoch that make it idempotent or open its transactions.

API key 22, versions 0-6, flexible from 2. Version 6 is not stable yet.

Source: KIP-98, KIP-360 (v3), KIP-890 (v5), KIP-939 (v6 two-phase commit).
"""

from typing import Annotated

from kdiag.wire.schema import (
    Boolean,
    Int16,
    Int32,
    ProducerId,
    Struct,
    TransactionalId,
    message,
    since,
)


@message(api_key=22, versions="0-6", flexible="2+")
class InitProducerIdRequest(Struct):
    """The request of InitProducerId."""

    transactional_id: TransactionalId | None = ""
    transaction_timeout_ms: Int32 = 0
    producer_id: Annotated[ProducerId, since("3+")] = -1
    producer_epoch: Annotated[Int16, since("3+")] = -1
    enable2_pc: Annotated[Boolean, since("6+")] = False
    keep_prepared_txn: Annotated[Boolean, since("6+")] = False


@message(api_key=22, versions="0-6", flexible="2+")
class InitProducerIdResponse(Struct):
    """The response of InitProducerId."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id: ProducerId = -1
    producer_epoch: Int16 = 0
    ongoing_txn_producer_id: Annotated[ProducerId, since("6+")] = -1
    ongoing_txn_producer_epoch: Annotated[Int16, since("6+")] = -1
