"""The transaction coordinator has leaders write commit or abort markers into partitions.

API key 27, versions 0-2, flexible from 1. Today's Kafka speaks 1-2 only.

Source: KIP-98, KIP-1228 (v2).
"""

from typing import Annotated

from kdiag.wire.schema import (
    Boolean,
    Int8,
    Int16,
    Int32,
    ProducerId,
    Struct,
    TopicName,
    ignorable,
    message,
    since,
)


class WritableTxnMarkerTopic(Struct):
    """One element of `topics` in WritableTxnMarker."""

    name: TopicName = ""
    partition_indexes: list[Int32] = []


class WritableTxnMarker(Struct):
    """One element of `markers` in WriteTxnMarkersRequest."""

    producer_id: ProducerId = 0
    producer_epoch: Int16 = 0
    transaction_result: Boolean = False
    topics: list[WritableTxnMarkerTopic] = []
    coordinator_epoch: Int32 = 0
    transaction_version: Annotated[Int8, since("2+"), ignorable] = 0


@message(api_key=27, versions="0-2", flexible="1+")
class WriteTxnMarkersRequest(Struct):
    """The request of WriteTxnMarkers."""

    markers: list[WritableTxnMarker] = []


class WritableTxnMarkerPartitionResult(Struct):
    """One element of `partitions` in WritableTxnMarkerTopicResult."""

    partition_index: Int32 = 0
    error_code: Int16 = 0


class WritableTxnMarkerTopicResult(Struct):
    """One element of `topics` in WritableTxnMarkerResult."""

    name: TopicName = ""
    partitions: list[WritableTxnMarkerPartitionResult] = []


class WritableTxnMarkerResult(Struct):
    """One element of `markers` in WriteTxnMarkersResponse."""

    producer_id: ProducerId = 0
    topics: list[WritableTxnMarkerTopicResult] = []


@message(api_key=27, versions="0-2", flexible="1+")
class WriteTxnMarkersResponse(Struct):
    """The response of WriteTxnMarkers."""

    markers: list[WritableTxnMarkerResult] = []
