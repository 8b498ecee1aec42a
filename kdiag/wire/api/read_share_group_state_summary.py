"""Reads start offset and epochs of a share group's state without the single deliveries.

API key 87, versions 0-1, flexible from 0.

Source: KIP-932, KIP-1226 (v1).
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
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


class PartitionData(Struct):
    """One element of `partitions` in ReadStateSummaryData."""

    partition: Int32 = 0
    leader_epoch: Int32 = 0


class ReadStateSummaryData(Struct):
    """One element of `topics` in ReadShareGroupStateSummaryRequest."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = []


@message(api_key=87, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryRequest(Struct):
    """The request of ReadShareGroupStateSummary."""

    group_id: String = ""
    topics: list[ReadStateSummaryData] = []


class PartitionResult(Struct):
    """One element of `partitions` in ReadStateSummaryResult."""

    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
    state_epoch: Int32 = 0
    leader_epoch: Int32 = 0
    start_offset: Int64 = 0
    delivery_complete_count: Annotated[Int32, since("1+"), ignorable] = -1


class ReadStateSummaryResult(Struct):
    """One element of `results` in ReadShareGroupStateSummaryResponse."""

    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionResult] = []


@message(api_key=87, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryResponse(Struct):
    """The response of ReadShareGroupStateSummary."""

    results: list[ReadStateSummaryResult] = []
