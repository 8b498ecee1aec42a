"""The timer: wheels and a clock. It runs tasks when they are due, never earlier.

    timer = SystemTimer(clock)
    task = timer.add(500 * NS_PER_MS, give_up)
    task.cancel()
    timer.advance()              # runs what is due; whoever has a loop of its own calls it there
    timer.next_ns                # and waits until then at the most

    with TimerReaper(timer):     # or a thread calls it
        ...

Any thread may add and cancel tasks; a task runs in the thread that advances the timer, and no lock
is held then.

Source: Kafka's `SystemTimer`, `SystemTimerReaper`.
"""

from collections.abc import Callable
from threading import Condition, Thread
from typing import Final, Self

from kdiag.clock import NS_PER_MS, NS_PER_S, Clock
from kdiag.lab.timer.wheel import BucketQueue, TimerTask, TimingWheel

TICK_NS: Final = NS_PER_MS
WHEEL_SIZE: Final = 20

_LONGEST_WAIT_NS: Final = 200 * NS_PER_MS


class SystemTimer:
    """Runs tasks when they are due, a tick late at the most.

    Attributes:
        clock: its monotonic time counts.
    """

    def __init__(self, clock: Clock, tick_ns: int = TICK_NS, wheel_size: int = WHEEL_SIZE) -> None:
        """Begin without tasks.

        Args:
            clock: its monotonic time counts.
            tick_ns: of the finest wheel: so exact the timer is.
            wheel_size: how many buckets a wheel has.
        """
        self.clock = clock
        self._tick_ns = tick_ns
        self._queue = BucketQueue()
        self._wheel = TimingWheel(tick_ns, wheel_size, clock.monotonic_ns(), self._queue)
        self._is_sooner = Condition(self._queue.lock)
        self._due: list[TimerTask] = []

    def __len__(self) -> int:
        """Return how many tasks have not run and are not cancelled."""
        with self._queue.lock:
            return self._queue.task_count + len(self._due)

    @property
    def next_ns(self) -> int | None:
        """Return when to advance the timer next, on its clock; None without tasks."""
        with self._queue.lock:
            return self.clock.monotonic_ns() if self._due else self._queue.next_ns

    def add(self, delay_ns: int, run: Callable[[], object]) -> TimerTask:
        """Have something run after a time; at once, when the timer is advanced, if it is over.

        Args:
            delay_ns: from now on.
            run: is called once, unless the task is cancelled.
        """
        with self._queue.lock:
            due_ns = self.clock.monotonic_ns() + delay_ns
            task = TimerTask(-(-due_ns // self._tick_ns) * self._tick_ns, run)
            before_ns = self._queue.next_ns
            if delay_ns <= 0 or not self._wheel.add(task):
                self._due.append(task)
            if self._due or self._queue.next_ns != before_ns:
                self._is_sooner.notify_all()
            return task

    def advance(self) -> int:
        """Run all tasks that are due, and return how many there were.

        A task that raises keeps no other from running; the first error is raised then.
        """
        errors: list[Exception] = []
        due = self._take_due()
        for task in due:
            try:
                task.run()
            except Exception as error:  # noqa: BLE001 - others must run; it is raised below
                errors.append(error)
        if errors:
            raise errors[0]
        return len(due)

    def wait(self, most_ns: int) -> None:
        """Wait until something is due by the machine's clock, or was added that is due sooner."""
        with self._queue.lock:
            next_ns = self.next_ns
            left_ns = most_ns if next_ns is None else next_ns - self.clock.monotonic_ns()
            if left_ns > 0:
                self._is_sooner.wait(min(left_ns, most_ns) / NS_PER_S)

    def interrupt(self) -> None:
        """End every wait."""
        with self._queue.lock:
            self._is_sooner.notify_all()

    def _take_due(self) -> list[TimerTask]:
        """Return the tasks that are due, by time; what is not moves to a finer wheel."""
        with self._queue.lock:
            now_ns = self.clock.monotonic_ns()
            due, self._due = self._due, []
            while (bucket := self._queue.due(now_ns)) is not None:
                self._wheel.advance(bucket.due_ns)
                due += [task for task in bucket.empty() if not self._wheel.add(task)]
            return due


class TimerReaper:
    """A thread that advances a timer, while a `with` block lasts."""

    def __init__(self, timer: SystemTimer) -> None:
        self._timer = timer
        self._is_closed = False
        self._thread = Thread(target=self._reap, name="timer-reaper", daemon=True)

    def __enter__(self) -> Self:
        """Start the thread."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it; tasks that are not due yet do not run."""
        self._is_closed = True
        self._timer.interrupt()
        self._thread.join()

    def _reap(self) -> None:
        while not self._is_closed:
            self._timer.advance()
            self._timer.wait(_LONGEST_WAIT_NS)
