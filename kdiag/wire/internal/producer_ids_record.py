"""A broker took a block of producer ids.

Record type 15 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import BrokerId, Int64, Struct, message


@message(versions="0", flexible="0+")
class ProducerIdsRecord(Struct):
    """Kafka's ProducerIdsRecord."""

    broker_id: BrokerId = 0
    broker_epoch: Int64 = -1
    next_producer_id: Int64 = 0
