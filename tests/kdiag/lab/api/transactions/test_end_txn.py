import pytest

from kdiag.wire.error_code import error_name
from lab_ends.transacting_client import TransactingClient

FENCED = [(1, "INVALID_PRODUCER_EPOCH"), (2, "PRODUCER_FENCED")]


@pytest.mark.parametrize("version", range(5))
def test_a_transaction_is_ended(producer: TransactingClient, version: int) -> None:
    """Its producer keeps its epoch."""
    producer.add("orders", 0)
    ended = producer.end(is_commit=True, version=version)
    assert (ended.error_code, ended.producer_id, ended.producer_epoch) == (0, -1, -1)
    other = producer.end(is_commit=False, version=version)
    assert error_name(other.error_code) == "INVALID_TXN_STATE"


def test_the_newest_version_tells_the_next_epoch(producer: TransactingClient) -> None:
    """Whoever writes with the old one is fenced (KIP-890)."""
    producer.add("orders", 0)
    ended = producer.end(is_commit=True, version=5)
    assert (ended.producer_id, ended.producer_epoch) == (producer.producer_id, 1)
    assert producer.produce("orders", 0, 12) == "INVALID_PRODUCER_EPOCH"


@pytest.mark.parametrize(
    ("version", "error"), [(1, "INVALID_PRODUCER_EPOCH"), (2, "PRODUCER_FENCED")]
)
def test_a_fenced_producer_ends_nothing(
    producer: TransactingClient, version: int, error: str
) -> None:
    """An older client is told of its epoch."""
    producer.producer_epoch += 1
    assert error_name(producer.end(is_commit=True, version=version).error_code) == error
