from threading import Event, Thread

from kdiag.clock import NS_PER_MS, ManualClock
from kdiag.lab.purgatory.delayed_operation import DelayedOperation
from kdiag.lab.timer.system_timer import SystemTimer

DEADLINE_S = 60


class Waiting(DelayedOperation):
    """An operation that can be completed once it is told so.

    Attributes:
        is_completable: whether it can.
        events: what has happened to it.
        locks: whether its lock was held, each time it was tried.
    """

    def __init__(
        self, delay_ns: int = 100_000 * NS_PER_MS, *, is_completable: bool = False
    ) -> None:
        super().__init__(delay_ns)
        self.is_completable = is_completable
        self.events: list[str] = []
        self.locks: list[bool] = []

    def try_complete(self) -> bool:
        """Complete if it may."""
        self.locks.append(self.lock._is_owned())  # type: ignore[attr-defined]
        return self.is_completable and self.force_complete()

    def on_complete(self) -> None:
        """Note it."""
        self.events.append("completed")

    def on_expiration(self) -> None:
        """Note it."""
        self.events.append("expired")


def test_it_is_completed_exactly_once() -> None:
    """The first call completes it; every later one is told False, of whatever kind it is."""
    operation = Waiting(is_completable=True)
    assert operation.force_complete()
    assert not operation.force_complete()
    assert not operation.safe_try_complete()
    assert not operation.try_complete()
    assert operation.is_completed
    assert operation.events == ["completed"]


def test_it_is_tried_under_its_lock() -> None:
    """Also by the second try, which follows what is done in between."""
    operation = Waiting()
    assert not operation.safe_try_complete()
    assert not operation.safe_try_complete_or_else(lambda: None)
    assert operation.locks == [True, True, True]


def test_something_else_is_done_only_if_it_cannot_be_completed() -> None:
    """An operation that is completed at once is not watched."""
    done: list[str] = []
    assert not Waiting().safe_try_complete_or_else(lambda: done.append("watched"))
    assert done == ["watched"]
    assert Waiting(is_completable=True).safe_try_complete_or_else(lambda: done.append("again"))
    assert done == ["watched"]


def test_an_event_that_comes_in_between_completes_it() -> None:
    """It is tried once more when it is watched, so that the event is not missed."""
    operation = Waiting()
    assert operation.safe_try_complete_or_else(lambda: setattr(operation, "is_completable", True))
    assert operation.events == ["completed"]


def test_its_timeout_completes_it() -> None:
    """It is completed first, and then expired."""
    clock = ManualClock()
    timer = SystemTimer(clock)
    operation = Waiting(20 * NS_PER_MS)
    operation.expire_after(timer)
    clock.advance(19 * NS_PER_MS)
    timer.advance()
    assert not operation.is_completed
    clock.advance(NS_PER_MS)
    timer.advance()
    assert operation.events == ["completed", "expired"]


def test_its_completion_ends_its_timeout() -> None:
    """It does not expire, whether it is completed before the timeout is started or after."""
    timer = SystemTimer(ManualClock())
    operation = Waiting()
    operation.expire_after(timer)
    assert len(timer) == 1
    operation.force_complete()
    assert len(timer) == 0
    operation.expire_after(timer)
    assert len(timer) == 0
    assert operation.events == ["completed"]


def test_a_timeout_that_comes_during_the_completion_changes_nothing() -> None:
    """The timer's thread finds it completed, and neither completes nor expires it again."""
    clock = ManualClock()
    timer = SystemTimer(clock)
    is_completing, may_end = Event(), Event()

    class Slow(Waiting):
        def on_complete(self) -> None:
            is_completing.set()
            assert may_end.wait(DEADLINE_S)
            super().on_complete()

    operation = Slow(NS_PER_MS, is_completable=True)
    operation.expire_after(timer)
    clock.advance(NS_PER_MS)
    due = timer._take_due()
    event = Thread(target=operation.safe_try_complete)
    event.start()
    assert is_completing.wait(DEADLINE_S)
    for task in due:
        task.run()
    may_end.set()
    event.join(DEADLINE_S)
    assert operation.events == ["completed"]


def test_one_of_many_threads_completes_it() -> None:
    """However many call at the same time."""
    operation = Waiting(is_completable=True)
    begin = Event()
    won: list[bool] = []

    def force() -> None:
        begin.wait(DEADLINE_S)
        won.append(operation.force_complete())

    threads = [Thread(target=force) for _ in range(20)]
    for thread in threads:
        thread.start()
    begin.set()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert sorted(won) == [False] * 19 + [True]
    assert operation.events == ["completed"]
