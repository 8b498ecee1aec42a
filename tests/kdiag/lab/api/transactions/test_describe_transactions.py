from kdiag.wire.api.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kdiag.wire.error_code import error_name
from lab_ends.transacting_client import NAME, TransactingClient


def test_a_transaction_is_told(producer: TransactingClient) -> None:
    """One that nobody has used is an error of its own."""
    producer.add("orders", 1, 0)
    request = DescribeTransactionsRequest(transactional_ids=[NAME, "nobody", ""])
    response = producer.client.ask(request, DescribeTransactionsResponse, 0)
    told, unknown, empty = response.transaction_states
    assert (told.transaction_state, told.transaction_timeout_ms) == ("Ongoing", 60_000)
    assert (told.producer_id, told.producer_epoch) == (producer.producer_id, 0)
    assert told.transaction_start_time_ms > 0
    assert [(each.topic, each.partitions) for each in told.topics] == [("orders", [0, 1])]
    assert error_name(unknown.error_code) == "TRANSACTIONAL_ID_NOT_FOUND"
    assert error_name(empty.error_code) == "INVALID_REQUEST"
