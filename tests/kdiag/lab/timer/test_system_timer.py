from random import Random
from threading import Event, Thread

import pytest

from kdiag.clock import NS_PER_MS, ManualClock, SystemClock
from kdiag.lab.timer.system_timer import SystemTimer, TimerReaper


def clock_within_a_tick() -> ManualClock:
    """Return a clock that stands between two ticks."""
    clock = ManualClock()
    clock.advance(123_456_789)
    return clock


def test_what_is_over_runs_at_once() -> None:
    """In the order in which it was added."""
    timer = SystemTimer(clock_within_a_tick())
    ran: list[int] = []
    for delay in range(-5, 1):
        timer.add(delay * NS_PER_MS, lambda delay=delay: ran.append(delay))  # type: ignore[misc]
    assert timer.next_ns == timer.clock.monotonic_ns()
    assert timer.advance() == 6
    assert ran == [-5, -4, -3, -2, -1, 0]
    assert timer.advance() == len(timer) == 0
    assert SystemTimer(clock_within_a_tick()).next_ns is None


def test_no_task_runs_early_and_none_a_tick_late() -> None:
    """Though they wait in several wheels, and time goes on by leaps."""
    clock = clock_within_a_tick()
    timer = SystemTimer(clock, NS_PER_MS, 3)
    random = Random(7)
    late: list[int] = []

    def add(delay_ns: int) -> None:
        due_ns = clock.monotonic_ns() + delay_ns
        timer.add(delay_ns, lambda: late.append(clock.monotonic_ns() - due_ns))

    for _ in range(500):
        add(random.randrange(1, 500 * NS_PER_MS))
    while len(timer):
        next_ns = timer.next_ns
        assert next_ns is not None
        clock.advance(max(0, next_ns - clock.monotonic_ns()))
        timer.advance()
    assert len(late) == 500
    assert min(late) >= 0
    assert max(late) < NS_PER_MS


def test_time_that_leaps_over_many_tasks_runs_them_all() -> None:
    """Also those in coarser wheels; the earlier ones first."""
    clock = clock_within_a_tick()
    timer = SystemTimer(clock)
    ran: list[int] = []
    for delay in (900, 30, 5, 20_000):
        timer.add(delay * NS_PER_MS, lambda delay=delay: ran.append(delay))  # type: ignore[misc]
    clock.advance(1_000 * NS_PER_MS)
    assert timer.advance() == 3
    assert ran == [5, 30, 900]
    assert len(timer) == 1


def test_a_task_that_is_cancelled_does_not_run() -> None:
    """It is not counted, either."""
    clock = clock_within_a_tick()
    timer = SystemTimer(clock)
    ran: list[str] = []
    first = timer.add(NS_PER_MS, lambda: ran.append("first"))
    timer.add(NS_PER_MS, lambda: ran.append("second"))
    assert first.cancel()
    assert len(timer) == 1
    clock.advance(5 * NS_PER_MS)
    assert timer.advance() == 1
    assert ran == ["second"]


def test_a_task_that_raises_keeps_no_other_from_running() -> None:
    """Its error comes out afterwards."""
    timer = SystemTimer(clock_within_a_tick())
    ran: list[str] = []
    timer.add(0, lambda: 1 // 0)
    timer.add(0, lambda: ran.append("second"))
    with pytest.raises(ZeroDivisionError):
        timer.advance()
    assert ran == ["second"]


def test_a_task_may_add_another() -> None:
    """As heartbeats do; no lock is held while it runs."""
    clock = clock_within_a_tick()
    timer = SystemTimer(clock)
    beats: list[int] = []

    def beat() -> None:
        beats.append(clock.monotonic_ns())
        timer.add(3 * NS_PER_MS, beat)

    timer.add(0, beat)
    for _ in range(20):
        timer.advance()
        clock.advance(NS_PER_MS)
    assert len(beats) == 5


def test_a_thread_runs_tasks_in_the_background() -> None:
    """One that is added and due sooner wakes it; what is not due when it ends does not run."""
    timer = SystemTimer(SystemClock())
    ran, never = Event(), Event()
    with TimerReaper(timer):
        timer.add(60_000 * NS_PER_MS, never.set)
        timer.add(2 * NS_PER_MS, ran.set)
        assert ran.wait(30)
    assert not never.is_set()
    assert len(timer) == 1


def test_tasks_of_many_threads_run_once_or_are_cancelled() -> None:
    """Never both, and never neither."""
    timer = SystemTimer(SystemClock())
    ran: list[int] = []
    cancelled: list[int] = []

    def use(thread: int) -> None:
        random = Random(thread)
        tasks = []
        for number in range(thread * 1000, thread * 1000 + 500):
            delay_ns = random.randrange(5 * NS_PER_MS)
            tasks.append((number, timer.add(delay_ns, lambda number=number: ran.append(number))))  # type: ignore[misc]
            if random.random() < 0.5:
                chosen, task = random.choice(tasks)
                if task.cancel():
                    cancelled.append(chosen)

    threads = [Thread(target=use, args=[thread]) for thread in range(8)]
    with TimerReaper(timer):
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        done = Event()
        timer.add(20 * NS_PER_MS, done.set)
        assert done.wait(30)
    assert len(ran) + len(cancelled) == len(set(ran) | set(cancelled)) == 8 * 500
    assert len(timer) == 0
