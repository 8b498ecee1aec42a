import sys
from collections.abc import Iterator
from random import Random
from threading import Event, Lock, Thread

import pytest

from kdiag.clock import NS_PER_MS, ManualClock
from kdiag.lab.purgatory.delayed_operation import DelayedOperation
from kdiag.lab.purgatory.operation_purgatory import DelayedOperationPurgatory
from kdiag.lab.timer.system_timer import SystemTimer

DEADLINE_S = 60
LONG_NS = 100_000 * NS_PER_MS


class Watched(DelayedOperation):
    """An operation that can be completed once it is told so."""

    def __init__(self, delay_ns: int = LONG_NS) -> None:
        super().__init__(delay_ns)
        self.is_completable = False
        self.expirations = 0

    def try_complete(self) -> bool:
        """Complete if it may."""
        return self.is_completable and self.force_complete()

    def on_complete(self) -> None:
        """Do nothing."""

    def on_expiration(self) -> None:
        """Count it."""
        self.expirations += 1


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock that stands still."""
    return ManualClock()


@pytest.fixture
def purgatory(clock: ManualClock) -> DelayedOperationPurgatory[Watched]:
    """Return a purgatory without operations, which purges ten of them."""
    return DelayedOperationPurgatory("Test", SystemTimer(clock), purge_interval=10)


@pytest.fixture
def _hasty_threads() -> Iterator[None]:
    """Have threads take turns as often as they can."""
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval_s)


def test_an_event_completes_what_waits_for_it(
    purgatory: DelayedOperationPurgatory[Watched],
) -> None:
    """Once, and only under its own key."""
    first, second = Watched(), Watched()
    assert purgatory.check_and_complete("test1") == 0
    assert not purgatory.try_complete_else_watch(first, ["test1"])
    assert purgatory.check_and_complete("test1") == 0
    assert not purgatory.try_complete_else_watch(second, ["test2"])
    assert purgatory.check_and_complete("test2") == 0
    first.is_completable = True
    assert purgatory.check_and_complete("test1") == 1
    assert purgatory.check_and_complete("test1") == 0
    second.is_completable = True
    assert purgatory.check_and_complete("test2") == 1
    assert purgatory.check_and_complete("test2") == 0
    assert repr(purgatory) == "<DelayedOperationPurgatory Test: 0 wait>"


def test_what_can_be_completed_is_not_watched(
    purgatory: DelayedOperationPurgatory[Watched],
) -> None:
    """Nor does it take a timeout."""
    operation = Watched()
    operation.is_completable = True
    assert purgatory.try_complete_else_watch(operation, ["key"])
    assert purgatory.watched_count == purgatory.delayed_count == 0


def test_watching_needs_a_key(purgatory: DelayedOperationPurgatory[Watched]) -> None:
    """Otherwise nothing but its timeout would ever complete it."""
    with pytest.raises(ValueError, match="without keys"):
        purgatory.try_complete_else_watch(Watched(), [])


def test_an_operation_expires_when_its_time_is_up(
    purgatory: DelayedOperationPurgatory[Watched], clock: ManualClock
) -> None:
    """Not before, and no other with it."""
    first, second = Watched(20 * NS_PER_MS), Watched(200_000 * NS_PER_MS)
    purgatory.try_complete_else_watch(first, ["test1"])
    purgatory.try_complete_else_watch(second, ["test2"])
    clock.advance(20 * NS_PER_MS - 1)
    assert purgatory.advance() == 0
    clock.advance(1)
    assert purgatory.advance() == 1
    assert first.is_completed
    assert not second.is_completed
    assert (first.expirations, second.expirations) == (1, 0)
    assert purgatory.delayed_count == 1


def test_completed_operations_leave_a_list_when_its_key_is_checked(
    purgatory: DelayedOperationPurgatory[Watched],
) -> None:
    """They stop counting as delayed at once, and as watched list by list."""
    operations = [Watched(), Watched(), Watched()]
    for count, operation in enumerate(operations, start=1):
        purgatory.try_complete_else_watch(operation, [f"test{each + 1}" for each in range(count)])
    assert (purgatory.delayed_count, purgatory.watched_count) == (3, 6)
    for delayed, operation in ((2, operations[1]), (1, operations[2])):
        operation.is_completable = True
        operation.try_complete()
        assert purgatory.delayed_count == delayed
    left = []
    for key in ("test1", "test2", "test3"):
        purgatory.check_and_complete(key)
        left.append(purgatory.watched_count)
    assert left == [4, 2, 1]


def test_lists_are_purged_when_too_many_lie_in_them(
    purgatory: DelayedOperationPurgatory[Watched],
) -> None:
    """Though nobody checks their keys again."""
    waiting = Watched()
    purgatory.try_complete_else_watch(waiting, ["busy"])
    operations = [Watched() for _ in range(10)]
    for number, operation in enumerate(operations):
        purgatory.try_complete_else_watch(operation, ["busy", f"key{number}"])
        operation.force_complete()
    purgatory.advance()
    assert purgatory.watched_count == 21
    last = Watched()
    purgatory.try_complete_else_watch(last, ["busy"])
    last.force_complete()
    purgatory.advance()
    assert purgatory.watched_count == 1
    assert purgatory.delayed_count == 1


def test_cancelled_operations_are_returned_and_not_completed(
    purgatory: DelayedOperationPurgatory[Watched],
) -> None:
    """Those of other keys stay."""
    first, second, third = Watched(), Watched(), Watched()
    for operation, key in ((first, "key"), (second, "key"), (third, "key2")):
        purgatory.try_complete_else_watch(operation, [key])
    assert purgatory.cancel_for_key("key") == [first, second]
    assert (purgatory.delayed_count, purgatory.watched_count) == (1, 1)
    assert not first.is_completed
    assert purgatory.cancel_for_key("key") == []


def test_an_operation_that_fails_holds_up_no_other(
    purgatory: DelayedOperationPurgatory[Watched],
) -> None:
    """The others are completed, and then its error is raised."""

    class Failing(Watched):
        def on_complete(self) -> None:
            raise ConnectionResetError("gone")

    failing, good = Failing(), Watched()
    for operation in (failing, good):
        purgatory.try_complete_else_watch(operation, ["key"])
        operation.is_completable = True
    with pytest.raises(ConnectionResetError, match="gone"):
        purgatory.check_and_complete("key")
    assert good.is_completed
    assert purgatory.watched_count == purgatory.delayed_count == 0


def test_keys_are_added_until_the_operation_is_completed(
    purgatory: DelayedOperationPurgatory[Watched],
) -> None:
    """One that an event completes meanwhile is not put into further lists (KAFKA-18027)."""
    operation = Watched()
    watch = purgatory._watch

    def complete_after_first(op: Watched, keys: tuple[str, ...]) -> None:
        watch(op, keys[:1])
        op.is_completable = True
        purgatory.check_and_complete(keys[0])
        watch(op, keys[1:])

    operation.safe_try_complete_or_else(lambda: complete_after_first(operation, ("a", "b", "c")))
    assert operation.is_completed
    assert purgatory.watched_count == 0


@pytest.mark.usefixtures("_hasty_threads")
def test_many_threads_miss_no_completion(purgatory: DelayedOperationPurgatory[Watched]) -> None:
    """The last of twenty attempts, in twenty threads, makes an operation completable: it is done.

    An attempt that finds the operation's lock held must not go away, for the holder may have looked
    before the operation became completable.
    """
    attempts = 20
    operations = [Watched() for _ in range(100)]
    left = [attempts] * len(operations)
    lock, random = Lock(), Random(11)
    for number, operation in enumerate(operations):
        purgatory.try_complete_else_watch(operation, [number])
    turns = [number for number in range(len(operations)) for _ in range(attempts)]
    random.shuffle(turns)

    def attempt() -> None:
        while turns:
            with lock:
                if not turns:
                    return
                number = turns.pop()
                left[number] -= 1
                is_last = left[number] == 0
            if is_last:
                operations[number].is_completable = True
            purgatory.check_and_complete(number)

    threads = [Thread(target=attempt) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert [operation.is_completed for operation in operations] == [True] * len(operations)
    assert purgatory.watched_count == purgatory.delayed_count == 0


@pytest.mark.usefixtures("_hasty_threads")
def test_completion_and_expiry_race_without_harm(clock: ManualClock) -> None:
    """Whoever is first completes an operation; it expires only if that was the timeout."""
    purgatory: DelayedOperationPurgatory[Watched] = DelayedOperationPurgatory(
        "Race", SystemTimer(clock)
    )
    completions: list[int] = []

    class Counted(Watched):
        def __init__(self, number: int) -> None:
            super().__init__(NS_PER_MS)
            self.number = number
            self.is_completable = False

        def on_complete(self) -> None:
            completions.append(self.number)

    operations = [Counted(number) for number in range(400)]
    for operation in operations:
        purgatory.try_complete_else_watch(operation, [operation.number])
        operation.is_completable = True
    clock.advance(NS_PER_MS)
    by_event: list[int] = []
    begin = Event()

    def check(numbers: range) -> None:
        begin.wait(DEADLINE_S)
        by_event.extend(each for each in numbers if purgatory.check_and_complete(each))

    def expire() -> None:
        begin.wait(DEADLINE_S)
        purgatory.advance()

    threads = [Thread(target=check, args=[range(each, 400, 4)]) for each in range(4)]
    threads.append(Thread(target=expire))
    for thread in threads:
        thread.start()
    begin.set()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert sorted(completions) == list(range(400))
    expired = [operation.number for operation in operations if operation.expirations]
    assert sorted(expired + by_event) == list(range(400))


def test_an_operation_whose_lock_is_held_elsewhere_holds_up_no_other_key(
    purgatory: DelayedOperationPurgatory[Watched],
) -> None:
    """Its own key waits for the lock; the others go on."""
    held, free = Watched(), Watched()
    purgatory.try_complete_else_watch(held, ["held"])
    purgatory.try_complete_else_watch(free, ["free"])
    held.is_completable = free.is_completable = True
    with held.lock:
        waiting = Thread(target=purgatory.check_and_complete, args=["held"])
        waiting.start()
        assert purgatory.check_and_complete("free") == 1
        assert not held.is_completed
    waiting.join(DEADLINE_S)
    assert held.is_completed
