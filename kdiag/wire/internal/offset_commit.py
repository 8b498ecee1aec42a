"""A committed offset of a group for one partition.

Record type 1 of `__consumer_offsets`, versions 0-4, flexible from 4.
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    Int32,
    Int64,
    String,
    Struct,
    Uuid,
    ignorable,
    message,
    since,
    tag,
)


@message(versions="0")
class OffsetCommitKey(Struct):
    """The key of a record of type 1."""

    group: String = ""
    topic: String = ""
    partition: Int32 = 0


@message(versions="0-4", flexible="4+")
class OffsetCommitValue(Struct):
    """The value of a record of type 1."""

    offset: Int64 = 0
    leader_epoch: Annotated[Int32, since("3+"), ignorable] = -1
    metadata: String = ""
    commit_timestamp: Int64 = 0
    expire_timestamp: Annotated[Int64, since("1"), ignorable] = -1
    topic_id: Annotated[Uuid, since("4+"), tag(0), ignorable] = ZERO_UUID
