"""A broker's registration was removed.

Record type 1 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import BrokerId, Int64, Struct, message


@message(versions="0", flexible="0+")
class UnregisterBrokerRecord(Struct):
    """Kafka's UnregisterBrokerRecord."""

    broker_id: BrokerId = 0
    broker_epoch: Int64 = 0
