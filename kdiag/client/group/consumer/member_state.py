"""The states of a member by the consumer protocol, and which follows which.

    UNSUBSCRIBED --> JOINING --> RECONCILING --> ACKNOWLEDGING --> STABLE
                        ^             ^----------------------------- |
                        |                                            v
                     FENCED, STALE <-- (LEAVING <--) -- PREPARE_LEAVING

    JOINING          heartbeats with epoch 0, until one is answered
    RECONCILING      it is to own other partitions than it does
    ACKNOWLEDGING    it does, and the next heartbeat says so, at once
    FENCED, STALE    its partitions are lost: expelled; or not polled for too long, and has left
    FATAL            refused for good

Source: Kafka's `MemberState`; KIP-848.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from kdiag.client.group.membership import MemberState


class ConsumerMemberState(Enum):
    """How far a member is."""

    UNSUBSCRIBED = auto()
    JOINING = auto()
    RECONCILING = auto()
    ACKNOWLEDGING = auto()
    STABLE = auto()
    FENCED = auto()
    PREPARE_LEAVING = auto()
    LEAVING = auto()
    FATAL = auto()
    STALE = auto()

    @property
    def is_in_group(self) -> bool:
        """Return whether the broker counts it as a member, or is asked to."""
        return self not in _OUTSIDE

    @property
    def is_leaving(self) -> bool:
        """Return whether it is about to leave."""
        return self in (ConsumerMemberState.PREPARE_LEAVING, ConsumerMemberState.LEAVING)

    @property
    def is_urgent(self) -> bool:
        """Return whether the next heartbeat does not wait for the interval."""
        return self in _URGENT

    @property
    def takes_assignments(self) -> bool:
        """Return whether a new assignment is for it."""
        return self in FORMER_STATES[ConsumerMemberState.RECONCILING]

    @property
    def membership_state(self) -> MemberState:
        """Return what it is for commits, and for the heartbeat thread."""
        if self is ConsumerMemberState.JOINING:
            return MemberState.COMPLETING_REBALANCE
        if self in _OUTSIDE or self is ConsumerMemberState.LEAVING:
            return MemberState.UNJOINED
        return MemberState.STABLE


_STATE: Final = ConsumerMemberState
_OUTSIDE: Final = frozenset({_STATE.UNSUBSCRIBED, _STATE.FENCED, _STATE.FATAL, _STATE.STALE})
_URGENT: Final = frozenset({_STATE.ACKNOWLEDGING, _STATE.LEAVING, _STATE.JOINING})
_ACTIVE: Final = frozenset(
    {_STATE.JOINING, _STATE.RECONCILING, _STATE.ACKNOWLEDGING, _STATE.STABLE}
)
_LEAVING: Final = frozenset({_STATE.PREPARE_LEAVING, _STATE.LEAVING})

FORMER_STATES: Final[Mapping[ConsumerMemberState, frozenset[ConsumerMemberState]]] = {
    _STATE.UNSUBSCRIBED: _LEAVING | {_STATE.FENCED},
    _STATE.JOINING: _OUTSIDE - {_STATE.FATAL},
    _STATE.RECONCILING: _ACTIVE,
    _STATE.ACKNOWLEDGING: frozenset({_STATE.RECONCILING}),
    _STATE.STABLE: _ACTIVE - {_STATE.STABLE},
    _STATE.FENCED: _ACTIVE | _LEAVING,
    _STATE.PREPARE_LEAVING: _ACTIVE | {_STATE.UNSUBSCRIBED},
    _STATE.LEAVING: frozenset({_STATE.PREPARE_LEAVING}),
    _STATE.FATAL: _ACTIVE | _LEAVING | {_STATE.UNSUBSCRIBED},
    _STATE.STALE: frozenset({_STATE.LEAVING}),
}
"""State -> the states that it may follow."""
