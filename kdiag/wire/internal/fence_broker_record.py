"""A broker was fenced: it leads nothing until it is back.

Record type 7 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import BrokerId, Int64, Struct, message


@message(versions="0", flexible="0+")
class FenceBrokerRecord(Struct):
    """Kafka's FenceBrokerRecord."""

    id: BrokerId = 0
    epoch: Int64 = 0
