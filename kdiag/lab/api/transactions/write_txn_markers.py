"""WriteTxnMarkers: markers that end transactions, into partitions that this node leads (KIP-98).

Behaviour: a coordinator sends them, or an administrator who aborts a transaction that hangs
(KIP-664). The marker's epoch fences older epochs of the producer in the partition; a coordinator
with an older epoch than the last is TRANSACTION_COORDINATOR_FENCED. Each partition has an error of
its own, and the answer comes when all replicas in sync have the markers.

Version notes: 1 is flexible, 2 tells the transaction version (KIP-1228).

Source: Kafka's `KafkaApis.handleWriteTxnMarkersRequest`.

Leaves out: the stricter check of epochs for transaction version 2 (KIP-1228).
"""

from collections.abc import Callable

from kdiag.lab.api.call import ApiCall
from kdiag.lab.coordinator.transaction.marker_writer import EndMarker, MarkerCodes
from kdiag.lab.coordinator.transaction.transaction_metadata import TxnPartition
from kdiag.wire.api.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)


def handle(request: WriteTxnMarkersRequest, call: ApiCall) -> WriteTxnMarkersResponse | None:
    """Write markers, and answer when all of them are done."""
    results: dict[int, WritableTxnMarkerResult] = {}

    def collector(number: int) -> Callable[[MarkerCodes], None]:
        def collect(codes: MarkerCodes) -> None:
            results[number] = _result(request.markers[number], codes)
            if len(results) == len(request.markers):
                ordered = [results[each] for each in range(len(results))]
                call.respond(WriteTxnMarkersResponse(markers=ordered))

        return collect

    for number, asked in enumerate(request.markers):
        marker = EndMarker(
            asked.producer_id,
            asked.producer_epoch,
            asked.transaction_result,
            asked.coordinator_epoch,
        )
        partitions = [
            TxnPartition(topic.name, each)
            for topic in asked.topics
            for each in topic.partition_indexes
        ]
        call.node.markers.write(marker, partitions, collector(number))
    return None if request.markers else WriteTxnMarkersResponse()


def _result(asked: WritableTxnMarker, codes: MarkerCodes) -> WritableTxnMarkerResult:
    return WritableTxnMarkerResult(
        producer_id=asked.producer_id,
        topics=[
            WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    WritableTxnMarkerPartitionResult(
                        partition_index=each, error_code=codes[TxnPartition(topic.name, each)]
                    )
                    for each in topic.partition_indexes
                ],
            )
            for topic in asked.topics
        ],
    )
