"""The states of a transactional id, and which may follow which.

    Empty            a producer has initialized, and written nothing yet
    Ongoing          partitions are part of the transaction
    PrepareCommit    it will be committed: markers are being written
    PrepareAbort     likewise aborted
    CompleteCommit   every partition has its marker
    CompleteAbort    likewise
    Dead             about to be forgotten
    PrepareEpochFence    its producer is being fenced; this state is never written

Source: Kafka's `TransactionState`.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final


class TransactionState(IntEnum):
    """The states, by their numbers in records."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def text(self) -> str:
        """Return Kafka's name of the state, such as `PrepareCommit`."""
        return self.name.title().replace("_", "")

    @property
    def is_expiration_allowed(self) -> bool:
        """Return whether an id in this state may be forgotten."""
        return self in _RESTING

    @property
    def is_prepared(self) -> bool:
        """Return whether markers are being written."""
        return self in {TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT}

    def may_follow(self, state: "TransactionState") -> bool:
        """Return whether an id may come into this state from another."""
        return state in _PREVIOUS[self]


_RESTING: Final = frozenset(
    (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
)
_PREVIOUS: Final[Mapping[TransactionState, frozenset[TransactionState]]] = {
    TransactionState.EMPTY: _RESTING,
    TransactionState.ONGOING: _RESTING | {TransactionState.ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset((TransactionState.ONGOING,)),
    # A producer of KIP-890 may abort what has no partition, to get another epoch.
    TransactionState.PREPARE_ABORT: _RESTING
    | {TransactionState.ONGOING, TransactionState.PREPARE_EPOCH_FENCE},
    TransactionState.COMPLETE_COMMIT: frozenset((TransactionState.PREPARE_COMMIT,)),
    TransactionState.COMPLETE_ABORT: frozenset((TransactionState.PREPARE_ABORT,)),
    TransactionState.DEAD: _RESTING,
    TransactionState.PREPARE_EPOCH_FENCE: frozenset((TransactionState.ONGOING,)),
}

STATE_BY_TEXT: Final = {state.text: state for state in TransactionState}
"""The states by Kafka's names."""
