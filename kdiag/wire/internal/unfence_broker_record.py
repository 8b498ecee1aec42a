"""A fenced broker is back.

Record type 8 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import BrokerId, Int64, Struct, message


@message(versions="0", flexible="0+")
class UnfenceBrokerRecord(Struct):
    """Kafka's UnfenceBrokerRecord."""

    id: BrokerId = 0
    epoch: Int64 = 0
