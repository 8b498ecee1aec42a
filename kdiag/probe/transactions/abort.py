"""Ends a transaction in one partition: writes the marker that its coordinator will not write.

Source: KIP-664; Kafka's AbortTransactionHandler: WriteTxnMarkers to the leader.
"""

from kdiag.client.cluster_client import ClusterClient
from kdiag.diagnosis.transactions import OpenPartition
from kdiag.wire.api.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kdiag.wire.error_code import error_name


def abort_request(partition: OpenPartition) -> WriteTxnMarkersRequest:
    """Return the request that aborts the open transaction of a partition.

    The epoch of the coordinator is that of the producer's last marker there: a leader refuses an
    older one. A producer without any marker has none to be older than.
    """
    marker = WritableTxnMarker(
        producer_id=partition.producer_id,
        producer_epoch=partition.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(partition.topic, [partition.partition])],
        coordinator_epoch=max(0, partition.coordinator_epoch),
    )
    return WriteTxnMarkersRequest([marker])


def abort_transaction(client: ClusterClient, partition: OpenPartition) -> str | None:
    """Abort the open transaction of a partition, and return Kafka's error; None if it is over.

    It takes ALTER on the cluster.

    Raises:
        KdiagError: if the leader does not answer.
    """
    body = client.ask(partition.leader_id, abort_request(partition), WriteTxnMarkersResponse)
    codes = [
        each.error_code
        for marker in body.markers
        for topic in marker.topics
        for each in topic.partitions
    ]
    return next((error_name(code) for code in codes if code), None)
