from kdiag.wire.api.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from kdiag.wire.error_code import error_name
from lab_ends.transacting_client import TransactingClient


def test_a_partition_tells_its_producers(producer: TransactingClient) -> None:
    """And where their open transactions begin, until they end."""
    producer.add("orders", 0)
    producer.produce("orders", 0, 9)
    topic = TopicRequest(name="orders", partition_indexes=[0, 1, 9])
    request = DescribeProducersRequest(topics=[topic])
    (told,) = producer.client.ask(request, DescribeProducersResponse, 0).topics
    written, empty, unknown = told.partitions
    (known,) = written.active_producers
    assert (known.producer_id, known.producer_epoch) == (producer.producer_id, 0)
    assert (known.last_sequence, known.current_txn_start_offset) == (0, 0)
    assert known.coordinator_epoch == -1
    assert empty.active_producers == []
    assert error_name(unknown.error_code) == "UNKNOWN_TOPIC_OR_PARTITION"
    producer.end(is_commit=True)
    (told,) = producer.client.ask(request, DescribeProducersResponse, 0).topics
    (known,) = told.partitions[0].active_producers
    assert (known.current_txn_start_offset, known.coordinator_epoch) == (-1, 0)
