"""The value of a commit or abort marker.

Version 0, never flexible.
"""

from kdiag.wire.schema import Int32, Struct, message


@message(versions="0")
class EndTxnMarker(Struct):
    """Kafka's EndTxnMarker."""

    coordinator_epoch: Int32 = 0
