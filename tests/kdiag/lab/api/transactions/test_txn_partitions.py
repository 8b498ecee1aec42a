import pytest

from kdiag.lab.api.transactions.txn_partitions import is_transactional, producer_of
from kdiag.wire.records.record import BatchHeader
from lab_ends.one_node import batch
from lab_ends.transacting_client import TransactingClient


def test_a_batch_says_whose_it_is() -> None:
    """And whether it is part of a transaction."""
    header = BatchHeader(producer_id=1 << 40, producer_epoch=7, base_sequence=0)
    assert producer_of(batch(header=header)) == (1 << 40, 7)
    assert not is_transactional(batch(header=header))


@pytest.mark.parametrize(
    ("version", "error"), [(9, "INVALID_TXN_STATE"), (11, "TRANSACTION_ABORTABLE"), (12, "NONE")]
)
def test_a_partition_has_to_be_in_the_transaction(
    producer: TransactingClient, version: int, error: str
) -> None:
    """A client that knows KIP-890 need not say so before: the broker adds it."""
    assert producer.produce("orders", 0, version) == error
    assert producer.produce("orders", 7, version) == "UNKNOWN_TOPIC_OR_PARTITION"
    producer.add("orders", 0)
    assert producer.produce("orders", 0, version) == "NONE"
    assert producer.produce("orders", 0, version) == "NONE"
    producer.end(is_commit=True)
    assert producer.produce("orders", 0, version) == error


def test_a_transaction_without_a_name_is_refused(producer: TransactingClient) -> None:
    """Nobody could end it."""
    assert producer.produce("orders", 0, 9, name=None) == "INVALID_TXN_STATE"


def test_a_producer_that_nobody_knows_is_refused(producer: TransactingClient) -> None:
    """Its name belongs to another."""
    producer.producer_id += 1
    assert producer.produce("orders", 0, 12) == "INVALID_PRODUCER_ID_MAPPING"
    assert producer.produce("orders", 0, 9) == "INVALID_PRODUCER_ID_MAPPING"
