"""Deletes a share group's delivery state of partitions at the share coordinator.

API key 86, version 0, flexible from 0.

Source: KIP-932.
"""

from kdiag.wire.schema import ZERO_UUID, Int16, Int32, String, Struct, Uuid, message


class PartitionData(Struct):
    """One element of `partitions` in DeleteStateData."""

    partition: Int32 = 0


class DeleteStateData(Struct):
    """One element of `topics` in DeleteShareGroupStateRequest."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = []


@message(api_key=86, versions="0", flexible="0+")
class DeleteShareGroupStateRequest(Struct):
    """The request of DeleteShareGroupState."""

    group_id: String = ""
    topics: list[DeleteStateData] = []


class PartitionResult(Struct):
    """One element of `partitions` in DeleteStateResult."""

    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None


class DeleteStateResult(Struct):
    """One element of `results` in DeleteShareGroupStateResponse."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionResult] = []


@message(api_key=86, versions="0", flexible="0+")
class DeleteShareGroupStateResponse(Struct):
    """The response of DeleteShareGroupState."""

    results: list[DeleteStateResult] = []
