"""A partition's leader stores a share group's delivery state at the share coordinator.

API key 85, versions 0-1, flexible from 0.

Source: KIP-932, KIP-1226 (v1).
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
    ignorable,
    message,
    since,
)


class StateBatch(Struct):
    """One element of `state_batches` in PartitionData."""

    first_offset: Int64 = 0
    last_offset: Int64 = 0
    delivery_state: Int8 = 0
    delivery_count: Int16 = 0


class PartitionData(Struct):
    """One element of `partitions` in WriteStateData."""

    partition: Int32 = 0
    state_epoch: Int32 = 0
    leader_epoch: Int32 = 0
    start_offset: Int64 = 0
    delivery_complete_count: Annotated[Int32, since("1+"), ignorable] = -1
    state_batches: list[StateBatch] = []


class WriteStateData(Struct):
    """One element of `topics` in WriteShareGroupStateRequest."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = []


@message(api_key=85, versions="0-1", flexible="0+")
class WriteShareGroupStateRequest(Struct):
    """The request of WriteShareGroupState."""

    group_id: String = ""
    topics: list[WriteStateData] = []


class PartitionResult(Struct):
    """One element of `partitions` in WriteStateResult."""

    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None


class WriteStateResult(Struct):
    """One element of `results` in WriteShareGroupStateResponse."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionResult] = []


@message(api_key=85, versions="0-1", flexible="0+")
class WriteShareGroupStateResponse(Struct):
    """The response of WriteShareGroupState."""

    results: list[WriteStateResult] = []
