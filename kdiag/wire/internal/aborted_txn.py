"""An aborted transaction of a segment: one entry of a broker's .txnindex file.

Version 0, never flexible.
"""

from kdiag.wire.schema import Int64, Struct, message


@message(versions="0")
class AbortedTxn(Struct):
    """Kafka's AbortedTxn."""

    producer_id: Int64 = 0
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    last_stable_offset: Int64 = 0
