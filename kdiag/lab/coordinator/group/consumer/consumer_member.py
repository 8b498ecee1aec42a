"""A member of a consumer group: what it reads, its epoch, what it has and what it is to give up.

    STABLE                   has what it is to have, of the epoch that it is in
    UNREVOKED_PARTITIONS     is to give up partitions, and has not said that it has
    UNRELEASED_PARTITIONS    is to get partitions that others have not given up

A member is a value: each step makes another one, which is written down.

Source: Kafka's `ConsumerGroupMember`, `MemberState`; KIP-848.
"""

from enum import IntEnum
from typing import Final, NamedTuple, Self

from kdiag.lab.coordinator.group.consumer.assignor.group_spec import Partitions

LEAVE_EPOCH: Final = -1
"""The member epoch of who leaves."""
LEAVE_STATIC_EPOCH: Final = -2
"""The member epoch of a static member that will come back."""


class ReconciliationState(IntEnum):
    """How far a member is, by the numbers in records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127

    @classmethod
    def of(cls, number: int) -> Self:
        """Return the state of a number; UNKNOWN for one of a newer broker."""
        try:
            return cls(number)
        except ValueError:
            return cls(127)


class ConsumerGroupMember(NamedTuple):
    """A member.

    Attributes:
        member_id: its id.
        instance_id: its name, if it is static.
        rack_id: its rack, if it says so.
        client_id: as it calls itself.
        client_host: its address.
        rebalance_timeout_ms: how long it may take to give partitions up.
        topics: the names of topics that it reads.
        regex: a pattern of names; empty if it has none.
        server_assignor: the assignor that it prefers, if any.
        epoch: the epoch that it is in.
        previous_epoch: the one before.
        state: how far it is.
        assigned: what it may read.
        revoked: what it is to give up.
    """

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topics: frozenset[str] = frozenset()
    regex: str = ""
    server_assignor: str | None = None
    epoch: int = 0
    previous_epoch: int = 0
    state: ReconciliationState = ReconciliationState.STABLE
    assigned: Partitions = frozenset()
    revoked: Partitions = frozenset()

    @property
    def held(self) -> Partitions:
        """Return what nobody else may have yet."""
        return self.assigned | self.revoked

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Return whether it has what it is to have."""
        return self.state is ReconciliationState.STABLE and self.epoch == assignment_epoch

    def at(
        self,
        epoch: int,
        state: ReconciliationState,
        assigned: Partitions,
        revoked: Partitions = frozenset(),
    ) -> Self:
        """Return the member in an epoch."""
        return self._replace(
            epoch=epoch,
            previous_epoch=self.epoch,
            state=state,
            assigned=assigned,
            revoked=revoked,
        )
