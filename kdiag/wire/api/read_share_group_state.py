"""A partition's leader reads a share group's delivery state from the share coordinator.

API key 84, version 0, flexible from 0.

Source: KIP-932.
"""

from kdiag.wire.schema import ZERO_UUID, Int8, Int16, Int32, Int64, String, Struct, Uuid, message


class PartitionData(Struct):
    """One element of `partitions` in ReadStateData."""

    partition: Int32 = 0
    leader_epoch: Int32 = 0


class ReadStateData(Struct):
    """One element of `topics` in ReadShareGroupStateRequest."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = []


@message(api_key=84, versions="0", flexible="0+")
class ReadShareGroupStateRequest(Struct):
    """The request of ReadShareGroupState."""

    group_id: String = ""
    topics: list[ReadStateData] = []


class StateBatch(Struct):
    """One element of `state_batches` in PartitionResult."""

    first_offset: Int64 = 0
    last_offset: Int64 = 0
    delivery_state: Int8 = 0
    delivery_count: Int16 = 0


class PartitionResult(Struct):
    """One element of `partitions` in ReadStateResult."""

    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
    state_epoch: Int32 = 0
    start_offset: Int64 = 0
    state_batches: list[StateBatch] = []


class ReadStateResult(Struct):
    """One element of `results` in ReadShareGroupStateResponse."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionResult] = []


@message(api_key=84, versions="0", flexible="0+")
class ReadShareGroupStateResponse(Struct):
    """The response of ReadShareGroupState."""

    results: list[ReadStateResult] = []
