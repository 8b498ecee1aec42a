from kdiag.client.cluster_client import ClusterClient
from kdiag.probe.transactions.abort import abort_request, abort_transaction
from kdiag.probe.transactions.search import find_open_transactions
from kdiag.wire.api.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.log_cluster import LogCluster


def answer(error: str) -> WriteTxnMarkersResponse:
    """Return the answer of a leader."""
    part = WritableTxnMarkerPartitionResult(1, CODE_BY_NAME[error])
    topic = WritableTxnMarkerTopicResult("orders", [part])
    return WriteTxnMarkersResponse([WritableTxnMarkerResult(7, [topic])])


def test_the_marker_is_that_of_the_producer(cluster: LogCluster, client: ClusterClient) -> None:
    """It goes to the leader, with the epochs that it knows."""
    cluster.brokers[2].on("WriteTxnMarkers", answer("NONE"))
    (partition,) = find_open_transactions(client).before
    (marker,) = abort_request(partition).markers
    assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (7, 2, 4)
    assert (marker.transaction_result, marker.topics[0].partition_indexes) == (False, [1])
    assert abort_transaction(client, partition) is None
    assert len(cluster.brokers[2].asked("WriteTxnMarkers")) == 1


def test_a_refusal_is_kafkas_error(cluster: LogCluster, client: ClusterClient) -> None:
    """Such as that of an older epoch."""
    cluster.brokers[2].on("WriteTxnMarkers", answer("INVALID_PRODUCER_EPOCH"))
    (partition,) = find_open_transactions(client).before
    assert abort_transaction(client, partition) == "INVALID_PRODUCER_EPOCH"
