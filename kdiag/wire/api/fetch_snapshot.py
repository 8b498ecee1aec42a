"""A KRaft replica that is too far behind reads the leader's snapshot in pieces.

API key 59, versions 0-1, flexible from 0.

Source: KIP-630, KIP-853 (v1).
"""

from typing import Annotated

import msgspec

from kdiag.wire.schema import (
    ZERO_UUID,
    BrokerId,
    Int16,
    Int32,
    Int64,
    Records,
    String,
    Struct,
    TopicName,
    Uint16,
    Uuid,
    ignorable,
    message,
    since,
    tag,
)


class SnapshotId(Struct):
    """The value of `snapshot_id` in PartitionSnapshot."""

    end_offset: Int64 = 0
    epoch: Int32 = 0


class PartitionSnapshot(Struct):
    """One element of `partitions` in TopicSnapshot."""

    partition: Int32 = 0
    current_leader_epoch: Int32 = 0
    snapshot_id: SnapshotId = msgspec.field(default_factory=SnapshotId)
    position: Int64 = 0
    replica_directory_id: Annotated[Uuid, since("1+"), tag(0), ignorable] = ZERO_UUID


class TopicSnapshot(Struct):
    """One element of `topics` in FetchSnapshotRequest."""

    name: TopicName = ""
    partitions: list[PartitionSnapshot] = []


@message(api_key=59, versions="0-1", flexible="0+")
class FetchSnapshotRequest(Struct):
    """The request of FetchSnapshot."""

    cluster_id: Annotated[String | None, tag(0)] = None
    replica_id: BrokerId = -1
    max_bytes: Int32 = 2_147_483_647
    topics: list[TopicSnapshot] = []


class LeaderIdAndEpoch(Struct):
    """The value of `current_leader` in ResponsePartitionSnapshot."""

    leader_id: BrokerId = 0
    leader_epoch: Int32 = 0


class ResponsePartitionSnapshot(Struct):
    """One element of `partitions` in ResponseTopicSnapshot."""

    index: Int32 = 0
    error_code: Int16 = 0
    snapshot_id: SnapshotId = msgspec.field(default_factory=SnapshotId)
    current_leader: Annotated[LeaderIdAndEpoch, tag(0)] = msgspec.field(
        default_factory=LeaderIdAndEpoch
    )
    size: Int64 = 0
    position: Int64 = 0
    unaligned_records: Records = b""


class ResponseTopicSnapshot(Struct):
    """One element of `topics` in FetchSnapshotResponse."""

    name: TopicName = ""
    partitions: list[ResponsePartitionSnapshot] = []


class NodeEndpoint(Struct):
    """One element of `node_endpoints` in FetchSnapshotResponse."""

    node_id: BrokerId = 0
    host: String = ""
    port: Uint16 = 0


@message(api_key=59, versions="0-1", flexible="0+")
class FetchSnapshotResponse(Struct):
    """The response of FetchSnapshot."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    topics: list[ResponseTopicSnapshot] = []
    node_endpoints: Annotated[list[NodeEndpoint], since("1+"), tag(0)] = []
