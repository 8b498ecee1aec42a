"""One transactional id: its producer, its state, its partitions; what may happen to it next.

    metadata = TransactionMetadata("payments", TxnTransitMetadata(producer_id=17, ...))
    transit = metadata.prepare_add_partitions({("orders", 0)}, now_ms)    # pending: Ongoing
    ...                                                                   # the log has the record
    metadata.complete_transition_to(transit)                              # it is Ongoing

Between the two nothing else may be prepared: whoever comes is told CONCURRENT_TRANSACTIONS. If the
record cannot be written, `pending_state` is cleared and everything is as before.

Epochs fence producers: InitProducerId bumps it, so does a timeout, and so does the end of each
transaction of a producer that knows KIP-890 (transaction version 2). Epoch 32767 is never given:
the coordinator has to be able to fence. A producer that has used 32766 gets another id.

Source: Kafka's `TransactionMetadata`, `TxnTransitMetadata`; KIP-360, KIP-890.
"""

from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.transaction.transaction_state import TransactionState

NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1
NO_TIME: Final = -1
EPOCH_BUMPS_SINCE: Final = 2
"""The transaction version that bumps the epoch at each end."""

_EXHAUSTED_EPOCH: Final = (1 << 15) - 2


class TxnPartition(NamedTuple):
    """A partition of a transaction.

    Attributes:
        topic: its topic.
        partition: its number.
    """

    topic: str
    partition: int


class TxnTransitMetadata(NamedTuple):
    """What a record says of a transactional id.

    Attributes:
        producer_id: of its producer.
        previous_producer_id: before that; -1 without one.
        next_producer_id: the one that it gets when the transaction has ended; -1 keeps it.
        producer_epoch: the newest.
        last_producer_epoch: the one before, for a producer that asks again; -1 without one.
        timeout_ms: a transaction is aborted after this time.
        state: its state.
        partitions: those of its transaction.
        start_ms: when the transaction began, in milliseconds since 1970; -1 without one.
        update_ms: when it changed last.
        client_version: the transaction version of its client: 2 bumps epochs.
    """

    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    last_producer_epoch: int = NO_EPOCH
    partitions: frozenset[TxnPartition] = frozenset()
    start_ms: int = NO_TIME
    update_ms: int = NO_TIME
    client_version: int = 0

    @property
    def is_epoch_exhausted(self) -> bool:
        """Return whether the producer id has had all the epochs that it may have."""
        return is_epoch_exhausted(self.producer_epoch)

    @property
    def bumps_epochs(self) -> bool:
        """Return whether each end of a transaction bumps the epoch."""
        return self.client_version >= EPOCH_BUMPS_SINCE


def is_epoch_exhausted(epoch: int) -> bool:
    """Return whether an epoch is the last that producers get."""
    return epoch >= _EXHAUSTED_EPOCH


class TransactionMetadata:
    """A transactional id.

    Attributes:
        transactional_id: its name.
        now: what the log says of it.
        pending_state: the state that is being written; None if none is.
    """

    def __init__(self, transactional_id: str, now: TxnTransitMetadata) -> None:
        """Begin with what the log says, or what a new id is."""
        self.transactional_id = transactional_id
        self.now = now
        self.pending_state: TransactionState | None = None

    def __repr__(self) -> str:
        return f"<TransactionMetadata {self.transactional_id}: {self.now.state.text}>"

    @property
    def is_fencing(self) -> bool:
        """Return whether its producer is being fenced."""
        return self.pending_state is TransactionState.PREPARE_EPOCH_FENCE

    def prepare_fence_producer_epoch(self) -> TxnTransitMetadata:
        """Prepare to fence the producer of an ongoing transaction."""
        return self._prepare(
            self.now._replace(
                state=TransactionState.PREPARE_EPOCH_FENCE,
                producer_epoch=self.now.producer_epoch + 1,
                last_producer_epoch=NO_EPOCH,
            )
        )

    def prepare_fenced_abort(self, fence: TxnTransitMetadata, now_ms: int) -> TxnTransitMetadata:
        """Prepare the abort of the transaction whose producer is being fenced.

        Raises:
            ValueError: if it is not.
        """
        if not self.is_fencing:
            raise ValueError(f"{self!r} is not fencing")
        self.pending_state = None
        is_exhausted = self.now.is_epoch_exhausted
        return self._prepare(
            fence._replace(
                state=TransactionState.PREPARE_ABORT,
                update_ms=now_ms,
                # A client that gets its epochs at ends would get none beyond the last.
                client_version=0 if is_exhausted else self.now.client_version,
            )
        )

    def prepare_increment_producer_epoch(
        self, timeout_ms: int, expected_epoch: int | None, now_ms: int
    ) -> TxnTransitMetadata:
        """Prepare the next epoch for a producer that initializes.

        Args:
            timeout_ms: of its transactions.
            expected_epoch: the one it had; None if it does not say (KIP-360).
            now_ms: the time.

        Raises:
            RequestRefusedError: PRODUCER_FENCED if it had an older one.
        """
        now = self.now
        epoch, last = now.producer_epoch + 1, NO_EPOCH
        if expected_epoch is not None:
            if now.producer_epoch in {expected_epoch, NO_EPOCH}:
                last = now.producer_epoch
            elif expected_epoch == now.last_producer_epoch:
                epoch, last = now.producer_epoch, now.last_producer_epoch
            else:
                why = f"epoch {expected_epoch}, it is {now.producer_epoch}"
                raise RequestRefusedError("PRODUCER_FENCED", why)
        return self._prepare_empty(now.producer_id, epoch, last, timeout_ms, now_ms)

    def prepare_producer_id_rotation(
        self, producer_id: int, timeout_ms: int, now_ms: int, *, is_last_epoch_kept: bool
    ) -> TxnTransitMetadata:
        """Prepare another producer id, with epoch 0."""
        last = self.now.producer_epoch if is_last_epoch_kept else NO_EPOCH
        return self._prepare_empty(producer_id, 0, last, timeout_ms, now_ms)

    def prepare_add_partitions(
        self, partitions: AbstractSet[TxnPartition], now_ms: int, client_version: int
    ) -> TxnTransitMetadata:
        """Prepare that partitions are part of the transaction; the first begin it."""
        is_going_on = self.now.state is TransactionState.ONGOING
        return self._prepare(
            self.now._replace(
                state=TransactionState.ONGOING,
                partitions=self.now.partitions | partitions,
                start_ms=self.now.start_ms if is_going_on else now_ms,
                update_ms=now_ms,
                client_version=client_version,
            )
        )

    def prepare_abort_or_commit(
        self, state: TransactionState, client_version: int, next_producer_id: int, now_ms: int
    ) -> TxnTransitMetadata:
        """Prepare the end of the transaction, or of none, to bump the epoch.

        Args:
            state: PREPARE_COMMIT or PREPARE_ABORT.
            client_version: 2 bumps the epoch.
            next_producer_id: for when the epoch is exhausted; -1 keeps the producer id.
            now_ms: the time.
        """
        now = self.now
        ended = now._replace(
            state=state,
            start_ms=now.start_ms if now.state is TransactionState.ONGOING else now_ms,
            update_ms=now_ms,
            client_version=client_version,
        )
        if ended.bumps_epochs:
            ended = ended._replace(
                producer_epoch=now.producer_epoch + 1,
                last_producer_epoch=now.producer_epoch,
                next_producer_id=next_producer_id,
            )
        return self._prepare(ended)

    def prepare_complete(self, now_ms: int) -> TxnTransitMetadata:
        """Prepare that every partition has its marker."""
        now = self.now
        is_commit = now.state is TransactionState.PREPARE_COMMIT
        done = now._replace(
            state=TransactionState.COMPLETE_COMMIT
            if is_commit
            else TransactionState.COMPLETE_ABORT,
            partitions=frozenset(),
            update_ms=now_ms,
        )
        if now.bumps_epochs and now.next_producer_id != NO_PRODUCER_ID:
            done = done._replace(
                producer_id=now.next_producer_id,
                previous_producer_id=now.producer_id,
                next_producer_id=NO_PRODUCER_ID,
                producer_epoch=0,
                last_producer_epoch=now.producer_epoch,
            )
        return self._prepare(done)

    def prepare_dead(self) -> TxnTransitMetadata:
        """Prepare that the id is forgotten."""
        return self._prepare(self.now._replace(state=TransactionState.DEAD, partitions=frozenset()))

    def complete_transition_to(self, transit: TxnTransitMetadata) -> None:
        """Record that the log has what was prepared.

        Raises:
            ValueError: if something else was prepared, or nothing.
        """
        if self.pending_state is not transit.state or transit.state in _NEVER_WRITTEN:
            raise ValueError(f"{self!r} cannot become {transit}: pending {self.pending_state}")
        self.now = transit
        self.pending_state = None

    def is_known_producer(self, producer_id: int, epoch: int) -> bool:
        """Return whether a producer that initializes again is the one of the id (KIP-360)."""
        now = self.now
        return (
            now.producer_epoch == NO_EPOCH
            or producer_id == now.producer_id
            or (producer_id == now.previous_producer_id and is_epoch_exhausted(epoch))
        )

    def _prepare_empty(
        self, producer_id: int, epoch: int, last_epoch: int, timeout_ms: int, now_ms: int
    ) -> TxnTransitMetadata:
        return self._prepare(
            self.now._replace(
                state=TransactionState.EMPTY,
                producer_id=producer_id,
                previous_producer_id=self.now.producer_id,
                next_producer_id=NO_PRODUCER_ID,
                producer_epoch=epoch,
                last_producer_epoch=last_epoch,
                timeout_ms=timeout_ms,
                partitions=frozenset(),
                start_ms=NO_TIME,
                update_ms=now_ms,
                client_version=0,
            )
        )

    def _prepare(self, transit: TxnTransitMetadata) -> TxnTransitMetadata:
        """Prepare a transition.

        Raises:
            ValueError: if another is pending, or it may not follow, or its producer cannot be.
        """
        if self.pending_state is not None:
            raise ValueError(f"{self!r} is becoming {self.pending_state.text} already")
        if not transit.state.may_follow(self.now.state):
            raise ValueError(f"{self!r} cannot become {transit.state.text}")
        is_epoch = 0 <= transit.producer_epoch < 1 << 15
        if transit.producer_id < 0 or not (is_epoch or transit.state is TransactionState.DEAD):
            raise ValueError(f"producer {transit.producer_id}, epoch {transit.producer_epoch}")
        self.pending_state = transit.state
        return transit


_NEVER_WRITTEN: Final = frozenset((TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE))
