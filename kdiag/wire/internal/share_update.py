"""The changes of a share group's delivery state since its snapshot.

Record type 1 of `__share_group_state`, version 0, flexible from 0.
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    Int8,
    Int16,
    Int32,
    Int64,
    String,
    Struct,
    Uuid,
    message,
    tag,
)


@message(versions="0")
class ShareUpdateKey(Struct):
    """The key of a record of type 1."""

    group_id: String = ""
    topic_id: Uuid = ZERO_UUID
    partition: Int32 = 0


class StateBatch(Struct):
    """One element of `state_batches` in ShareUpdateValue."""

    first_offset: Int64 = 0
    last_offset: Int64 = 0
    delivery_state: Int8 = 0
    delivery_count: Int16 = 0


@message(versions="0", flexible="0+")
class ShareUpdateValue(Struct):
    """The value of a record of type 1."""

    snapshot_epoch: Int32 = 0
    leader_epoch: Int32 = 0
    start_offset: Int64 = 0
    delivery_complete_count: Annotated[Int32, tag(0)] = -1
    state_batches: list[StateBatch] = []
