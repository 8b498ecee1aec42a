"""Nothing happened: it lets the log grow, so that replicas see a live leader.

Record type 20 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import Struct, message


@message(versions="0", flexible="0+")
class NoOpRecord(Struct):
    """Kafka's NoOpRecord."""
