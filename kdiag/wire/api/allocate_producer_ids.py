"""A broker gets a block of producer ids from the controller, to hand out.

API key 67, version 0, flexible from 0.

Source: KIP-730.
"""

from kdiag.wire.schema import BrokerId, Int16, Int32, Int64, ProducerId, Struct, message


@message(api_key=67, versions="0", flexible="0+")
class AllocateProducerIdsRequest(Struct):
    """The request of AllocateProducerIds."""

    broker_id: BrokerId = 0
    broker_epoch: Int64 = -1


@message(api_key=67, versions="0", flexible="0+")
class AllocateProducerIdsResponse(Struct):
    """The response of AllocateProducerIds."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id_start: ProducerId = 0
    producer_id_len: Int32 = 0
