"""The intents of Kafka's TransactionMetadataTest, release 4.x.

Left out: transitions with wrong fields (`testInvalidTransition...`): a transit is made from the
metadata itself, so its fields cannot be others'; two-phase commit (KIP-939), which a lab has not.
"""

import pytest

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.transaction.transaction_metadata import (
    NO_EPOCH,
    NO_PRODUCER_ID,
    TransactionMetadata,
    TxnPartition,
    TxnTransitMetadata,
)
from kdiag.lab.coordinator.transaction.transaction_state import TransactionState
from tiers.cases import for_each

NOW_MS = 1_000
LAST_EPOCH = 32_766
ORDERS = frozenset((TxnPartition("orders", 0),))
State = TransactionState


def metadata(state: State = State.EMPTY, epoch: int = 7, **fields: object) -> TransactionMetadata:
    """Return an id of producer 5."""
    now = TxnTransitMetadata(5, epoch, 60_000, state)._replace(**fields)  # type: ignore[arg-type]
    return TransactionMetadata("payments", now)


def ongoing(epoch: int = 7, **fields: object) -> TransactionMetadata:
    """Return an id with a transaction."""
    return metadata(State.ONGOING, epoch, partitions=ORDERS, start_ms=900, **fields)


def test_a_new_producer_gets_epoch_0() -> None:
    """Its id was given when the name was used first."""
    new = metadata(epoch=NO_EPOCH)
    transit = new.prepare_increment_producer_epoch(30_000, None, NOW_MS)
    assert new.pending_state is State.EMPTY
    new.complete_transition_to(transit)
    assert (new.now.producer_epoch, new.now.last_producer_epoch) == (0, NO_EPOCH)
    assert (new.now.timeout_ms, new.now.update_ms) == (30_000, NOW_MS)
    assert new.pending_state is None


def test_an_epoch_that_is_expected_is_bumped_and_kept_as_the_last() -> None:
    """So that a producer whose response was lost may ask again (KIP-360)."""
    known = metadata()
    known.complete_transition_to(known.prepare_increment_producer_epoch(60_000, 7, NOW_MS))
    assert (known.now.producer_epoch, known.now.last_producer_epoch) == (8, 7)
    again = known.prepare_increment_producer_epoch(60_000, 7, NOW_MS)
    assert (again.producer_epoch, again.last_producer_epoch) == (8, 7)


def test_an_epoch_that_is_older_is_fenced() -> None:
    """Nothing is pending then."""
    known = metadata(last_producer_epoch=6)
    with pytest.raises(RequestRefusedError, match="PRODUCER_FENCED"):
        known.prepare_increment_producer_epoch(60_000, 5, NOW_MS)
    assert known.pending_state is None


def test_another_producer_id_begins_with_epoch_0() -> None:
    """The one before is still known, with its last epoch."""
    known = metadata(epoch=LAST_EPOCH)
    assert known.now.is_epoch_exhausted
    transit = known.prepare_producer_id_rotation(9, 60_000, NOW_MS, is_last_epoch_kept=True)
    known.complete_transition_to(transit)
    assert known.now[:2] == (9, 0)
    assert (known.now.previous_producer_id, known.now.last_producer_epoch) == (5, LAST_EPOCH)
    assert known.is_known_producer(5, LAST_EPOCH)
    assert not known.is_known_producer(5, 3)
    assert not known.is_known_producer(4, LAST_EPOCH)


def test_an_ongoing_transaction_keeps_its_producer_id() -> None:
    """Until it has ended nothing else may happen to the id."""
    with pytest.raises(ValueError, match="cannot become Empty"):
        ongoing().prepare_producer_id_rotation(9, 60_000, NOW_MS, is_last_epoch_kept=True)


@pytest.mark.parametrize("state", [State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT])
def test_the_first_partitions_begin_a_transaction(state: State) -> None:
    """More of them do not change when it began."""
    known = metadata(state, start_ms=200)
    known.complete_transition_to(known.prepare_add_partitions(ORDERS, NOW_MS, 0))
    assert (known.now.state, known.now.start_ms) == (State.ONGOING, NOW_MS)
    more = known.prepare_add_partitions({TxnPartition("goods", 3)}, 2_000, 0)
    known.complete_transition_to(more)
    assert (known.now.start_ms, known.now.update_ms) == (NOW_MS, 2_000)
    assert known.now.partitions == ORDERS | {TxnPartition("goods", 3)}


@for_each("prepared", [State.PREPARE_COMMIT, State.PREPARE_ABORT])
@for_each(("version", "epoch"), [(0, 7), (2, 8)])
def test_an_end_is_prepared_and_completed(prepared: State, version: int, epoch: int) -> None:
    """It keeps its epoch, or has the next one for clients that know KIP-890."""
    known = ongoing()
    transit = known.prepare_abort_or_commit(prepared, version, NO_PRODUCER_ID, NOW_MS)
    known.complete_transition_to(transit)
    assert (known.now.state, known.now.producer_epoch) == (prepared, epoch)
    assert known.now.partitions == ORDERS
    known.complete_transition_to(known.prepare_complete(2_000))
    assert known.now.state.text == prepared.text.replace("Prepare", "Complete")
    assert (known.now.producer_epoch, known.now.partitions) == (epoch, frozenset())


def test_the_end_of_the_last_epoch_brings_another_producer_id() -> None:
    """The markers still carry the old one, with the epoch that no producer gets."""
    known = ongoing(epoch=LAST_EPOCH)
    known.complete_transition_to(known.prepare_abort_or_commit(State.PREPARE_COMMIT, 2, 9, NOW_MS))
    assert known.now[:2] == (5, LAST_EPOCH + 1)
    known.complete_transition_to(known.prepare_complete(NOW_MS))
    assert known.now[:2] == (9, 0)
    assert (known.now.previous_producer_id, known.now.next_producer_id) == (5, -1)


@for_each("epoch", [7, LAST_EPOCH])
@for_each("version", [0, 2])
def test_a_producer_is_fenced_by_the_next_epoch(epoch: int, version: int) -> None:
    """Also if it has the last: the coordinator keeps one for this."""
    known = ongoing(epoch, client_version=version)
    fence = known.prepare_fence_producer_epoch()
    assert known.is_fencing
    transit = known.prepare_fenced_abort(fence, NOW_MS)
    known.complete_transition_to(transit)
    assert (known.now.state, known.now.producer_epoch) == (State.PREPARE_ABORT, epoch + 1)
    assert known.now.last_producer_epoch == NO_EPOCH


def test_an_abort_that_is_not_fencing_needs_a_fence() -> None:
    """Its epoch would be another's."""
    known = ongoing()
    with pytest.raises(ValueError, match="is not fencing"):
        known.prepare_fenced_abort(known.now, NOW_MS)


def test_no_second_transition_is_prepared_while_one_is_pending() -> None:
    """Nor one completed that was not prepared."""
    known = metadata()
    transit = known.prepare_add_partitions(ORDERS, NOW_MS, 0)
    with pytest.raises(ValueError, match="is becoming Ongoing already"):
        known.prepare_add_partitions(ORDERS, NOW_MS, 0)
    with pytest.raises(ValueError, match="cannot become"):
        known.complete_transition_to(transit._replace(state=State.EMPTY))
    known.complete_transition_to(transit)
    with pytest.raises(ValueError, match="pending None"):
        known.complete_transition_to(transit)


def test_what_is_dead_is_never_written() -> None:
    """The id is forgotten instead."""
    known = metadata(State.COMPLETE_ABORT)
    with pytest.raises(ValueError, match="cannot become"):
        known.complete_transition_to(known.prepare_dead())


def test_a_producer_without_an_epoch_cannot_begin() -> None:
    """It has to initialize before."""
    with pytest.raises(ValueError, match="epoch -1"):
        metadata(epoch=NO_EPOCH).prepare_add_partitions(ORDERS, NOW_MS, 0)


def test_its_repr_tells_name_and_state() -> None:
    """In a log's line."""
    assert repr(ongoing()) == "<TransactionMetadata payments: Ongoing>"
