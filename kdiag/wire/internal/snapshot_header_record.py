"""The first record of a KRaft snapshot.

Version 0, flexible from 0.
"""

from kdiag.wire.schema import Int16, Int64, Struct, message


@message(versions="0", flexible="0+")
class SnapshotHeaderRecord(Struct):
    """Kafka's SnapshotHeaderRecord."""

    version: Int16 = 0
    last_contained_log_timestamp: Int64 = 0
