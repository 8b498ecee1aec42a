import pytest

from kdiag.wire.api.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kdiag.wire.error_code import error_name
from lab_ends.transacting_client import TransactingClient


@pytest.mark.parametrize("version", [1, 2])
def test_an_administrator_ends_a_transaction_that_hangs(
    producer: TransactingClient, version: int
) -> None:
    """Each partition has an error of its own."""
    producer.add("orders", 0)
    producer.produce("orders", 0, 9)
    topic = WritableTxnMarkerTopic(name="orders", partition_indexes=[0, 9])
    marker = WritableTxnMarker(
        producer_id=producer.producer_id, producer_epoch=producer.producer_epoch, topics=[topic]
    )
    request = WriteTxnMarkersRequest(markers=[marker, marker])
    response = producer.client.ask(request, WriteTxnMarkersResponse, version)
    assert [each.producer_id for each in response.markers] == [producer.producer_id] * 2
    (told,) = response.markers[0].topics
    errors = [error_name(each.error_code) for each in told.partitions]
    assert errors == ["NONE", "UNKNOWN_TOPIC_OR_PARTITION"]


def test_nothing_is_answered_at_once(producer: TransactingClient) -> None:
    """There is nothing to wait for."""
    response = producer.client.ask(WriteTxnMarkersRequest(), WriteTxnMarkersResponse, 1)
    assert response.markers == []
