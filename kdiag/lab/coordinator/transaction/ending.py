"""The end of a transaction: which requests may end it, and what they are told.

    Ongoing           COMMIT, ABORT                        the end is prepared
    Prepare...        the same end again                   CONCURRENT_TRANSACTIONS
    Complete...       the same end again, by epoch         NONE: the response was lost
    Empty, Complete   ABORT of a producer of KIP-890       prepared, to bump the epoch

A producer that knows KIP-890 (EndTxn 5) gets another epoch with each end; when it asks again, it
still has the epoch before. Whatever else is asked is INVALID_TXN_STATE, and of another epoch
PRODUCER_FENCED.

Source: Kafka's `TransactionCoordinator.endTransaction`; KIP-890.
"""

from typing import Final, NamedTuple

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.transaction.transaction_metadata import (
    EPOCH_BUMPS_SINCE,
    TransactionMetadata,
    is_epoch_exhausted,
)
from kdiag.lab.coordinator.transaction.transaction_state import TransactionState

State = TransactionState

_DONE: Final = {True: State.COMPLETE_COMMIT, False: State.COMPLETE_ABORT}
_PREPARED: Final = {True: State.PREPARE_COMMIT, False: State.PREPARE_ABORT}
_AT_REST: Final = frozenset((State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT))


class EndRequest(NamedTuple):
    """A producer's request to end its transaction.

    Attributes:
        producer_id: of the producer.
        producer_epoch: likewise.
        is_commit: whether to commit.
        client_version: the transaction version of the client.
    """

    producer_id: int
    producer_epoch: int
    is_commit: bool
    client_version: int = 0

    @property
    def prepared(self) -> TransactionState:
        """Return the state that the request prepares."""
        return _PREPARED[self.is_commit]


def is_end_prepared_by(request: EndRequest, metadata: TransactionMetadata) -> bool:
    """Return whether the end is to be prepared; False if it has been completed already.

    Raises:
        RequestRefusedError: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED,
            CONCURRENT_TRANSACTIONS, INVALID_TXN_STATE.
    """
    is_again = _is_retry(request, metadata)
    _check_producer(request, metadata, is_again=is_again)
    if metadata.pending_state is not None:
        raise RequestRefusedError("CONCURRENT_TRANSACTIONS", f"{metadata!r} is changing")
    now = metadata.now
    if now.state is State.ONGOING:
        return True
    if now.state is request.prepared:
        raise RequestRefusedError("CONCURRENT_TRANSACTIONS", "the same end is being written")
    knows_bumps = request.client_version >= EPOCH_BUMPS_SINCE
    is_same = now.state is _DONE[request.is_commit]
    if is_same and (is_again or not knows_bumps):
        return False
    if now.state in _AT_REST and knows_bumps and not request.is_commit and not is_again:
        return True
    raise RequestRefusedError("INVALID_TXN_STATE", f"{metadata!r} cannot be ended so")


def _check_producer(request: EndRequest, metadata: TransactionMetadata, *, is_again: bool) -> None:
    now = metadata.now
    if request.producer_id != now.producer_id and not is_again:
        why = f"producer id {request.producer_id}, it is {now.producer_id}"
        raise RequestRefusedError("INVALID_PRODUCER_ID_MAPPING", why)
    is_current = request.producer_epoch == now.producer_epoch
    if now.bumps_epochs and now.state.is_prepared:
        is_current = False  # the epoch that it will get is not told before the end is
    if not is_current and not is_again:
        why = f"epoch {request.producer_epoch}, it is {now.producer_epoch}"
        raise RequestRefusedError("PRODUCER_FENCED", why)


def _is_retry(request: EndRequest, metadata: TransactionMetadata) -> bool:
    """Return whether the producer asks with the epoch that it had before the end (KIP-890)."""
    now = metadata.now
    if metadata.is_fencing or not now.bumps_epochs:
        return False
    if now.state.is_prepared or now.state in _DONE.values():
        is_same_id = request.producer_id == now.producer_id
        if is_same_id and now.producer_epoch == request.producer_epoch + 1:
            return True
    return (
        now.state in _DONE.values()
        and request.producer_id == now.previous_producer_id
        and is_epoch_exhausted(request.producer_epoch)
        and not now.producer_epoch
    )
