"""A committed offset as Kafka 0.8 wrote it.

Record type 0 of `__consumer_offsets`, version 0, never flexible.
"""

from kdiag.wire.schema import Int32, Int64, String, Struct, message


@message(versions="0")
class LegacyOffsetCommitKey(Struct):
    """The key of a record of type 0."""

    group: String = ""
    topic: String = ""
    partition: Int32 = 0


@message(versions="0")
class LegacyOffsetCommitValue(Struct):
    """The value of a record of type 0."""

    offset: Int64 = 0
    metadata: String = ""
    commit_timestamp: Int64 = 0
