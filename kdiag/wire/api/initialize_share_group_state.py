"""The group coordinator creates a share group's state at the share coordinator.

API key 83, version 0, flexible from 0.

Source: KIP-932.
"""

from kdiag.wire.schema import ZERO_UUID, Int16, Int32, Int64, String, Struct, Uuid, message


class PartitionData(Struct):
    """One element of `partitions` in InitializeStateData."""

    partition: Int32 = 0
    state_epoch: Int32 = 0
    start_offset: Int64 = 0


class InitializeStateData(Struct):
    """One element of `topics` in InitializeShareGroupStateRequest."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = []


@message(api_key=83, versions="0", flexible="0+")
class InitializeShareGroupStateRequest(Struct):
    """The request of InitializeShareGroupState."""

    group_id: String = ""
    topics: list[InitializeStateData] = []


class PartitionResult(Struct):
    """One element of `partitions` in InitializeStateResult."""

    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None


class InitializeStateResult(Struct):
    """One element of `results` in InitializeShareGroupStateResponse."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionResult] = []


@message(api_key=83, versions="0", flexible="0+")
class InitializeShareGroupStateResponse(Struct):
    """The response of InitializeShareGroupState."""

    results: list[InitializeStateResult] = []
