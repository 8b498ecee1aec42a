"""A segment as a snapshot of tiered metadata has it.

Record type 3 of `__remote_log_metadata`, version 0, flexible from 0.
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    Boolean,
    Bytes,
    Int8,
    Int32,
    Int64,
    Struct,
    Uuid,
    message,
    tag,
)


class SegmentLeaderEpochEntry(Struct):
    """One element of `segment_leader_epochs` in RemoteLogSegmentMetadataSnapshotRecord."""

    leader_epoch: Int32 = 0
    offset: Int64 = 0


@message(versions="0", flexible="0+")
class RemoteLogSegmentMetadataSnapshotRecord(Struct):
    """Kafka's RemoteLogSegmentMetadataSnapshotRecord."""

    segment_id: Uuid = ZERO_UUID
    start_offset: Int64 = 0
    end_offset: Int64 = 0
    broker_id: Int32 = 0
    max_timestamp_ms: Int64 = 0
    event_timestamp_ms: Int64 = 0
    segment_leader_epochs: list[SegmentLeaderEpochEntry] = []
    segment_size_in_bytes: Int32 = 0
    custom_metadata: Bytes | None = None
    remote_log_segment_state: Int8 = 0
    txn_index_empty: Annotated[Boolean, tag(0)] = False
