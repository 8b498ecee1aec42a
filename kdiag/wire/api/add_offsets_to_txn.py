"""Adds a group's offsets to an open transaction before they are committed with it.

API key 25, versions 0-4, flexible from 3.

Source: KIP-98, KIP-890 (v4).
"""

from kdiag.wire.schema import GroupId, Int16, Int32, ProducerId, Struct, TransactionalId, message


@message(api_key=25, versions="0-4", flexible="3+")
class AddOffsetsToTxnRequest(Struct):
    """The request of AddOffsetsToTxn."""

    transactional_id: TransactionalId = ""
    producer_id: ProducerId = 0
    producer_epoch: Int16 = 0
    group_id: GroupId = ""


@message(api_key=25, versions="0-4", flexible="3+")
class AddOffsetsToTxnResponse(Struct):
    """The response of AddOffsetsToTxn."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
