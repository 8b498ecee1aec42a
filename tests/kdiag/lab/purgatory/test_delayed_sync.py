from kdiag.clock import NS_PER_S, ManualClock
from kdiag.lab.purgatory.delayed_sync import DelayedSync
from kdiag.lab.purgatory.operation_purgatory import DelayedOperationPurgatory
from kdiag.lab.timer.system_timer import SystemTimer


def watched(pending: set[str], expired: list[int]) -> tuple[ManualClock, DelayedOperationPurgatory]:  # type: ignore[type-arg]
    """Return a purgatory in which a generation waits."""
    clock = ManualClock()
    purgatory: DelayedOperationPurgatory[DelayedSync] = DelayedOperationPurgatory(
        "Rebalance", SystemTimer(clock)
    )
    operation = DelayedSync(60 * NS_PER_S, 5, lambda: not pending, expired.append)
    purgatory.try_complete_else_watch(operation, ["group"])
    return clock, purgatory


def test_it_is_done_when_all_have_asked() -> None:
    """Its timeout does nothing then."""
    pending, expired = {"a", "b"}, list[int]()
    clock, purgatory = watched(pending, expired)
    pending.discard("a")
    assert purgatory.check_and_complete("group") == 0
    pending.discard("b")
    assert purgatory.check_and_complete("group") == 1
    clock.advance(100 * NS_PER_S)
    purgatory.advance()
    assert expired == []


def test_it_expires_with_its_generation() -> None:
    """So that nobody is removed from a later one."""
    expired = list[int]()
    clock, purgatory = watched({"a"}, expired)
    clock.advance(61 * NS_PER_S)
    purgatory.advance()
    assert expired == [5]
