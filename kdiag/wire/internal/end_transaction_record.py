"""A metadata transaction ends: what waited takes effect.

Record type 24 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import Struct, message


@message(versions="0", flexible="0+")
class EndTransactionRecord(Struct):
    """Kafka's EndTransactionRecord."""
