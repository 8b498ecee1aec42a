"""A controller's registration was removed.

Record type 29 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import Int32, Struct, message


@message(versions="0", flexible="0+")
class UnregisterControllerRecord(Struct):
    """Kafka's UnregisterControllerRecord."""

    controller_id: Int32 = 0
