import pytest

from kdiag.clock import NS_PER_S, ManualClock
from kdiag.lab.purgatory.delayed_join import DelayedJoin, InitialDelayedJoin, InitialJoinTerms
from kdiag.lab.purgatory.operation_purgatory import DelayedOperationPurgatory
from kdiag.lab.timer.system_timer import SystemTimer

KEY = "group"


class WaitingGroup:
    """A group that waits for members.

    Attributes:
        clock: stands still.
        have_all_joined: whether they have.
        has_new_member: whether one came.
        completed_s: when it was completed.
    """

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.have_all_joined = False
        self.has_new_member = False
        self.completed_s: list[int] = []
        self.purgatory: DelayedOperationPurgatory[DelayedJoin] = DelayedOperationPurgatory(
            "Rebalance", SystemTimer(self.clock)
        )

    def watch(self, operation: DelayedJoin) -> None:
        """Wait."""
        self.purgatory.try_complete_else_watch(operation, [KEY])

    def join(self, delay_s: int) -> DelayedJoin:
        """Return a rebalance of a group that was there before."""
        return DelayedJoin(delay_s * NS_PER_S, lambda: self.have_all_joined, self.complete)

    def initial_join(self, delay_s: int, timeout_s: int) -> InitialDelayedJoin:
        """Return the first rebalance."""
        terms = InitialJoinTerms.of(delay_s * NS_PER_S, timeout_s * NS_PER_S)
        return InitialDelayedJoin(terms, self.take_new, self.complete, self.watch)

    def take_new(self) -> bool:
        """Return whether a member came since this was asked last."""
        has_new, self.has_new_member = self.has_new_member, False
        return has_new

    def complete(self) -> None:
        """Record it."""
        self.completed_s.append(self.clock.monotonic_ns() // NS_PER_S)

    def advance(self, seconds: int) -> None:
        """Let time pass, a second at a time."""
        for _ in range(seconds):
            self.clock.advance(NS_PER_S)
            self.purgatory.advance()


@pytest.fixture
def group() -> WaitingGroup:
    """Return a group for which nobody waits."""
    return WaitingGroup()


def test_a_rebalance_completes_at_once_when_all_have_joined(group: WaitingGroup) -> None:
    """Nobody need be waited for."""
    group.have_all_joined = True
    group.watch(group.join(60))
    assert group.completed_s == [0]
    assert group.purgatory.delayed_count == 0


def test_a_rebalance_completes_when_the_last_one_joins(group: WaitingGroup) -> None:
    """Once; its timeout does nothing then."""
    group.watch(group.join(60))
    group.advance(5)
    assert group.purgatory.check_and_complete(KEY) == 0
    group.have_all_joined = True
    assert group.purgatory.check_and_complete(KEY) == 1
    group.advance(100)
    assert group.completed_s == [5]


def test_a_rebalance_completes_without_those_that_do_not_join(group: WaitingGroup) -> None:
    """When its time is up."""
    group.watch(group.join(60))
    group.advance(100)
    assert group.completed_s == [60]


def test_the_first_rebalance_waits_though_all_have_joined(group: WaitingGroup) -> None:
    """Others may come: each would make another one."""
    group.have_all_joined = True
    group.watch(group.initial_join(3, 60))
    assert group.purgatory.check_and_complete(KEY) == 0
    group.advance(10)
    assert group.completed_s == [3]


def test_the_first_rebalance_waits_longer_while_members_come(group: WaitingGroup) -> None:
    """A delay more each time."""
    group.watch(group.initial_join(3, 60))
    for _ in range(3):
        group.has_new_member = True
        group.advance(3)
    group.advance(10)
    assert group.completed_s == [12]


def test_the_first_rebalance_waits_no_longer_than_the_rebalance_timeout(
    group: WaitingGroup,
) -> None:
    """However many come."""
    group.watch(group.initial_join(3, 10))
    for _ in range(20):
        group.has_new_member = True
        group.advance(1)
    assert group.completed_s == [10]


def test_a_delay_that_is_longer_than_the_timeout_is_not_extended(group: WaitingGroup) -> None:
    """Nothing remains."""
    group.has_new_member = True
    group.watch(group.initial_join(10, 3))
    group.advance(20)
    assert group.completed_s == [10]
