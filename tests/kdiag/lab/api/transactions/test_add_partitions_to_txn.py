import pytest

from kdiag.wire.api.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kdiag.wire.error_code import error_name
from lab_ends.transacting_client import NAME, TransactingClient

FENCED = [(1, "INVALID_PRODUCER_EPOCH"), (2, "PRODUCER_FENCED")]


def added_by_broker(
    producer: TransactingClient, *partitions: int, version: int = 5, is_verified: bool = False
) -> list[str]:
    """Add partitions as brokers do, and return their errors."""
    asked = AddPartitionsToTxnTransaction(
        transactional_id=NAME,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        verify_only=is_verified,
        topics=[AddPartitionsToTxnTopic(name="orders", partitions=[*partitions])],
    )
    other = AddPartitionsToTxnTransaction(transactional_id="nobody", topics=asked.topics)
    request = AddPartitionsToTxnRequest(transactions=[asked, other])
    response = producer.client.ask(request, AddPartitionsToTxnResponse, version)
    first, second = response.results_by_transaction
    (theirs,) = second.topic_results
    errors = {error_name(each.partition_error_code) for each in theirs.results_by_partition}
    assert errors == {"INVALID_PRODUCER_ID_MAPPING"}
    (topic,) = first.topic_results
    return [error_name(each.partition_error_code) for each in topic.results_by_partition]


@pytest.mark.parametrize("version", range(4))
def test_a_producer_adds_partitions(producer: TransactingClient, version: int) -> None:
    """Each has an error of its own."""
    assert producer.add("orders", 0, 1, version=version) == ["NONE", "NONE"]


@pytest.mark.thorough
def test_an_unknown_partition_keeps_the_others_out(producer: TransactingClient) -> None:
    """None of them is added."""
    errors = producer.add("orders", 0, 7)
    assert errors == ["OPERATION_NOT_ATTEMPTED", "UNKNOWN_TOPIC_OR_PARTITION"]
    assert added_by_broker(producer, 0, is_verified=True) == ["TRANSACTION_ABORTABLE"]


@pytest.mark.parametrize(
    ("version", "error"), [(1, "INVALID_PRODUCER_EPOCH"), (2, "PRODUCER_FENCED")]
)
def test_an_older_client_knows_no_fenced_producers(
    producer: TransactingClient, version: int, error: str
) -> None:
    """It is told of its epoch (KIP-588)."""
    producer.producer_epoch += 1
    assert producer.add("orders", 0, version=version) == [error]


@pytest.mark.parametrize("version", [4, 5])
def test_a_broker_adds_and_verifies_for_many(producer: TransactingClient, version: int) -> None:
    """What it has added it finds (KIP-890)."""
    assert added_by_broker(producer, 0, version=version) == ["NONE"]
    found = added_by_broker(producer, 0, 1, version=version, is_verified=True)
    assert found == ["NONE", "TRANSACTION_ABORTABLE"]


def test_nothing_is_answered_at_once(producer: TransactingClient) -> None:
    """A broker with nothing to ask gets nothing."""
    response = producer.client.ask(AddPartitionsToTxnRequest(), AddPartitionsToTxnResponse, 5)
    assert response.results_by_transaction == []
