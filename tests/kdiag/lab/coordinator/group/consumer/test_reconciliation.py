"""The intents of Kafka's CurrentAssignmentBuilderTest."""

import pytest

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.consumer.assignor.group_spec import Partitions, TopicIdPartition
from kdiag.lab.coordinator.group.consumer.consumer_member import (
    ConsumerGroupMember,
    ReconciliationState,
)
from kdiag.lab.coordinator.group.consumer.reconciliation import (
    ReconciliationTarget,
    reconciled,
)

STABLE = ReconciliationState.STABLE
UNREVOKED = ReconciliationState.UNREVOKED_PARTITIONS
UNRELEASED = ReconciliationState.UNRELEASED_PARTITIONS
UNKNOWN = ReconciliationState.UNKNOWN


def orders(*numbers: int) -> Partitions:
    """Return partitions of a topic."""
    return frozenset(TopicIdPartition(b"o" * 16, number) for number in numbers)


def member(
    state: ReconciliationState, epoch: int, assigned: Partitions, revoked: Partitions = frozenset()
) -> ConsumerGroupMember:
    """Return a member."""
    return ConsumerGroupMember("a", epoch=epoch, state=state, assigned=assigned, revoked=revoked)


def step(
    before: ConsumerGroupMember,
    epoch: int,
    target: Partitions,
    owned: Partitions | None = None,
    held: Partitions = frozenset(),
) -> tuple[ReconciliationState, int, Partitions, Partitions]:
    """Return the state, the epoch and the partitions after a step."""
    goal = ReconciliationTarget(epoch, target, held.__contains__, owned)
    after = reconciled(before, goal)
    return after.state, after.epoch, after.assigned, after.revoked


def test_nothing_changes_in_the_epoch_of_the_target() -> None:
    """The member is the same."""
    before = member(STABLE, 10, orders(1, 2))
    goal = ReconciliationTarget(10, orders(1, 2), lambda _: False, None)
    assert reconciled(before, goal) is before


def test_a_new_epoch_with_the_same_partitions_is_reached_at_once() -> None:
    """So is one with more that nobody holds."""
    before = member(STABLE, 10, orders(1, 2))
    assert step(before, 11, orders(1, 2)) == (STABLE, 11, orders(1, 2), orders())
    assert step(before, 11, orders(1, 2, 4)) == (STABLE, 11, orders(1, 2, 4), orders())


def test_partitions_are_given_up_before_the_epoch_is_reached() -> None:
    """As long as the member has them, or does not say."""
    before = member(STABLE, 10, orders(1, 2, 3))
    waits = (UNREVOKED, 10, orders(2, 3), orders(1))
    assert step(before, 11, orders(2, 3, 4)) == waits
    assert step(before, 11, orders(2, 3, 4), owned=orders(1, 2, 3)) == waits
    assert step(before, 11, orders(2, 3), owned=orders(2, 3)) == (
        STABLE,
        11,
        orders(2, 3),
        orders(),
    )


def test_partitions_that_others_hold_are_waited_for() -> None:
    """In the new epoch; those that are free are given."""
    before = member(STABLE, 10, orders(1, 2))
    after = step(before, 11, orders(1, 2, 3, 4), held=orders(3))
    assert after == (UNRELEASED, 11, orders(1, 2, 4), orders())
    after = step(before, 11, orders(1, 2, 3), held=orders(3))
    assert after == (UNRELEASED, 11, orders(1, 2), orders())


@pytest.mark.parametrize("owned", [None, orders(1), orders(1, 2, 3)])
def test_who_has_not_given_up_stays_where_it_is(owned: Partitions | None) -> None:
    """It has them still, or does not say."""
    before = member(UNREVOKED, 10, orders(2, 3), orders(1))
    assert step(before, 11, orders(2, 3), owned) == (UNREVOKED, 10, orders(2, 3), orders(1))


def test_who_has_given_up_goes_on() -> None:
    """To the target, or to what it is to give up next: an epoch later."""
    before = member(UNREVOKED, 10, orders(2, 3), orders(1))
    after = step(before, 12, orders(2, 3, 4), owned=orders(2, 3))
    assert after == (STABLE, 12, orders(2, 3, 4), orders())
    after = step(before, 12, orders(3), owned=orders(2, 3))
    assert after == (UNREVOKED, 11, orders(3), orders(2))
    after = step(before, 12, orders(2, 3, 5), owned=orders(2, 3), held=orders(5))
    assert after == (UNRELEASED, 12, orders(2, 3), orders())


def test_who_waits_gets_what_is_free_by_now() -> None:
    """And follows the latest target."""
    before = member(UNRELEASED, 11, orders(2))
    assert step(before, 11, orders(2, 3), held=orders(3)) == (UNRELEASED, 11, orders(2), orders())
    assert step(before, 11, orders(2, 3)) == (STABLE, 11, orders(2, 3), orders())
    after = step(before, 12, orders(5), owned=orders(2))
    assert after == (UNREVOKED, 11, orders(), orders(2))


def test_a_member_in_a_state_that_is_not_known_begins_anew() -> None:
    """Once it has nothing."""
    before = member(UNKNOWN, 11, orders(2))
    for owned in (None, orders(2)):
        with pytest.raises(RequestRefusedError, match="FENCED_MEMBER_EPOCH"):
            step(before, 12, orders(2), owned)
    assert step(before, 12, orders(2), owned=orders()) == (STABLE, 12, orders(2), orders())
