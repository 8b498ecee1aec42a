import pytest

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.transaction.ending import EndRequest, is_end_prepared_by
from kdiag.lab.coordinator.transaction.transaction_metadata import (
    TransactionMetadata,
    TxnTransitMetadata,
)
from kdiag.lab.coordinator.transaction.transaction_state import STATE_BY_TEXT, TransactionState
from tiers.cases import for_each

COMMIT, ABORT = True, False
LAST_EPOCH = 32_766


NOW = TxnTransitMetadata(5, 7, 60_000)
OLD = EndRequest(5, 7, COMMIT)
NEW = OLD._replace(client_version=2)


def ended(request: EndRequest, state: str, now: TxnTransitMetadata = NOW) -> str:
    """Return what is told: `prepared`, `done`, or an error."""
    known = now._replace(state=STATE_BY_TEXT[state], client_version=request.client_version)
    try:
        is_prepared = is_end_prepared_by(request, TransactionMetadata("payments", known))
    except RequestRefusedError as error:
        return error.error
    return "prepared" if is_prepared else "done"


@for_each(
    ("state", "commit", "abort"),
    [
        ("Ongoing", "prepared", "prepared"),
        ("PrepareCommit", "CONCURRENT_TRANSACTIONS", "INVALID_TXN_STATE"),
        ("PrepareAbort", "INVALID_TXN_STATE", "CONCURRENT_TRANSACTIONS"),
        ("CompleteCommit", "done", "INVALID_TXN_STATE"),
        ("CompleteAbort", "INVALID_TXN_STATE", "done"),
        ("Empty", "INVALID_TXN_STATE", "INVALID_TXN_STATE"),
    ],
)
def test_a_client_of_before_may_ask_for_the_same_end_again(
    state: str, commit: str, abort: str
) -> None:
    """And for no other."""
    assert ended(OLD, state) == commit
    assert ended(OLD._replace(is_commit=ABORT), state) == abort


@for_each(
    ("state", "epoch", "commit", "abort"),
    [
        ("Ongoing", 7, "prepared", "prepared"),
        ("Ongoing", 6, "PRODUCER_FENCED", "PRODUCER_FENCED"),
        ("PrepareCommit", 6, "CONCURRENT_TRANSACTIONS", "INVALID_TXN_STATE"),
        ("PrepareCommit", 7, "PRODUCER_FENCED", "PRODUCER_FENCED"),
        ("CompleteCommit", 6, "done", "INVALID_TXN_STATE"),
        ("CompleteCommit", 7, "INVALID_TXN_STATE", "prepared"),
        ("CompleteAbort", 6, "INVALID_TXN_STATE", "done"),
        ("CompleteAbort", 7, "INVALID_TXN_STATE", "prepared"),
        ("Empty", 7, "INVALID_TXN_STATE", "prepared"),
        ("Empty", 6, "PRODUCER_FENCED", "PRODUCER_FENCED"),
    ],
)
def test_a_client_of_now_asks_again_with_the_epoch_before(
    state: str, epoch: int, commit: str, abort: str
) -> None:
    """Each end bumps the epoch; an abort without a transaction does nothing else (KIP-890)."""
    request = NEW._replace(producer_epoch=epoch)
    assert ended(request, state) == commit
    assert ended(request._replace(is_commit=ABORT), state) == abort


def test_a_client_of_now_asks_again_with_the_producer_id_before() -> None:
    """Its response, with another producer id, was lost."""
    request = NEW._replace(producer_id=4, producer_epoch=LAST_EPOCH)
    rotated = NOW._replace(producer_epoch=0, previous_producer_id=4)
    assert ended(request, "CompleteCommit", rotated) == "done"
    assert ended(request, "Ongoing", rotated) == "INVALID_PRODUCER_ID_MAPPING"


def test_another_producer_and_a_pending_change_are_refused() -> None:
    """A producer id that is not the name's is not mapped to it."""
    assert ended(OLD._replace(producer_id=9), "Ongoing") == "INVALID_PRODUCER_ID_MAPPING"
    metadata = TransactionMetadata("payments", NOW._replace(state=TransactionState.ONGOING))
    metadata.prepare_abort_or_commit(TransactionState.PREPARE_COMMIT, 0, -1, 0)
    with pytest.raises(RequestRefusedError, match="CONCURRENT_TRANSACTIONS"):
        is_end_prepared_by(OLD, metadata)
