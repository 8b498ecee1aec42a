"""Reconciliation: from what a member has to what it is to have, a step for each heartbeat.

    target of a: 0 1     a has 0 1 2     UNREVOKED_PARTITIONS: 0 1, 2 is to be given up; old epoch
                         a has 0 1       STABLE: the next epoch
    target of b: 2 3     a has 2         UNRELEASED_PARTITIONS: 3; 2 as soon as a has given it up
                         nobody has 2    STABLE: 2 3

So no partition is with two members, and nobody waits but for what it needs.

Source: Kafka's `CurrentAssignmentBuilder`; KIP-848.
"""

from collections.abc import Callable
from typing import NamedTuple

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.consumer.assignor.group_spec import (
    Partitions,
    TopicIdPartition,
)
from kdiag.lab.coordinator.group.consumer.consumer_member import (
    ConsumerGroupMember,
    ReconciliationState,
)

_State = ReconciliationState


class ReconciliationTarget(NamedTuple):
    """What a member is to have.

    Attributes:
        epoch: of the assignment.
        partitions: what it is to have.
        is_held: whether somebody has a partition, or has not given it up.
        owned: what the member says that it has; None if it does not say.
    """

    epoch: int
    partitions: Partitions
    is_held: Callable[[TopicIdPartition], bool]
    owned: Partitions | None


def reconciled(member: ConsumerGroupMember, target: ReconciliationTarget) -> ConsumerGroupMember:
    """Return the member after the next step; the same if there is none.

    Raises:
        RequestRefusedError: FENCED_MEMBER_EPOCH of a member in a state that is not known.
    """
    if member.state is _State.STABLE:
        return member if member.epoch == target.epoch else _next(member, member.epoch, target)
    if member.state is _State.UNREVOKED_PARTITIONS:
        if _owns(target.owned, member.revoked):
            return member
        return _next(member, member.epoch + 1, target)
    if member.state is _State.UNRELEASED_PARTITIONS:
        return _next(member, member.epoch, target)
    if target.owned is None or target.owned:
        why = "The consumer group member is in a unknown state."
        raise RequestRefusedError("FENCED_MEMBER_EPOCH", why)
    return _next(member, target.epoch, target)


def _next(
    member: ConsumerGroupMember, epoch: int, target: ReconciliationTarget
) -> ConsumerGroupMember:
    kept = member.assigned & target.partitions
    revoked = member.assigned - kept
    missing = target.partitions - kept
    unreleased = frozenset(each for each in missing if target.is_held(each))
    if revoked and _owns(target.owned, revoked):
        return member.at(epoch, _State.UNREVOKED_PARTITIONS, kept, revoked)
    state = _State.UNRELEASED_PARTITIONS if unreleased else _State.STABLE
    return member.at(target.epoch, state, kept | (missing - unreleased))


def _owns(owned: Partitions | None, revoked: Partitions) -> bool:
    """Return whether a member may still have what it is to give up; so if it does not say."""
    return owned is None or bool(owned & revoked)
