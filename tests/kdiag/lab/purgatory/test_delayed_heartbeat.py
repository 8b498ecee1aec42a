import pytest

from kdiag.clock import NS_PER_S, ManualClock
from kdiag.lab.purgatory.delayed_heartbeat import DelayedHeartbeat
from kdiag.lab.purgatory.operation_key import MemberKey
from kdiag.lab.purgatory.operation_purgatory import DelayedOperationPurgatory
from kdiag.lab.timer.system_timer import SystemTimer

KEY = MemberKey("billing", "a")


class Sessions:
    """A member that is to be heard of.

    Attributes:
        is_satisfied: whether it was.
        expired_s: when it was removed.
    """

    def __init__(self) -> None:
        self.is_satisfied = False
        self.expired_s: list[int] = []
        self.clock = ManualClock()
        self.purgatory: DelayedOperationPurgatory[DelayedHeartbeat] = DelayedOperationPurgatory(
            "Heartbeat", SystemTimer(self.clock)
        )

    def expect(self, session_s: int = 45) -> bool:
        """Expect a heartbeat; return whether it was there already."""
        operation = DelayedHeartbeat(
            session_s * NS_PER_S,
            lambda: self.is_satisfied,
            lambda: self.expired_s.append(self.clock.monotonic_ns() // NS_PER_S),
        )
        return self.purgatory.try_complete_else_watch(operation, [KEY])

    def advance(self, seconds: int) -> None:
        """Let time pass."""
        self.clock.advance(seconds * NS_PER_S)
        self.purgatory.advance()


@pytest.fixture
def sessions() -> Sessions:
    """Return a member."""
    return Sessions()


def test_a_member_that_is_not_heard_of_is_removed(sessions: Sessions) -> None:
    """When its session ends, not before."""
    sessions.expect()
    sessions.advance(44)
    assert sessions.expired_s == []
    sessions.advance(2)
    assert sessions.expired_s == [46]


def test_a_member_that_is_heard_of_stays(sessions: Sessions) -> None:
    """The next heartbeat is waited for anew."""
    for _ in range(3):
        sessions.is_satisfied = False
        sessions.expect()
        sessions.advance(40)
        sessions.is_satisfied = True
        assert sessions.purgatory.check_and_complete(KEY) == 1
    sessions.advance(100)
    assert sessions.expired_s == []


def test_a_member_that_waits_is_not_waited_for(sessions: Sessions) -> None:
    """Nothing is watched."""
    sessions.is_satisfied = True
    assert sessions.expect()
    assert sessions.purgatory.watched_count == 0


def test_a_member_that_has_gone_is_waited_for_no_longer(sessions: Sessions) -> None:
    """A heartbeat that is cancelled expires never."""
    sessions.expect()
    assert len(sessions.purgatory.cancel_for_key(KEY)) == 1
    sessions.advance(100)
    assert sessions.expired_s == []
