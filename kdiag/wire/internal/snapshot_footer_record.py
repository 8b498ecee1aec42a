"""The last record of a KRaft snapshot.

Version 0, flexible from 0.
"""

from kdiag.wire.schema import Int16, Struct, message


@message(versions="0", flexible="0+")
class SnapshotFooterRecord(Struct):
    """Kafka's SnapshotFooterRecord."""

    version: Int16 = 0
