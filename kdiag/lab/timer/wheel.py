"""A hierarchical timing wheel: tasks are added and cancelled in constant time.

A wheel of 3 buckets, whose tick is 1 ms, covers 3 ms; what is later goes to a wheel whose tick is
3 ms, and so on. At time 0, with tasks due at 1, 2, 5 and 17 ms:

    tick 1 ms    [0 ]   [1: a]   [2: b]           0 to 2 ms
    tick 3 ms    [0 ]   [3: c]   [6 ]             3 to 8 ms: c, due at 5, is in the bucket of 3
    tick 9 ms    [0 ]   [9: d]   [18 ]            9 to 26 ms: d, due at 17, is in the bucket of 9

Time goes from bucket to bucket, never through empty ones:

    at 1    the bucket 1 is due: a runs
    at 2    b runs
    at 3    the bucket 3 of the second wheel is due. Its tasks are added again: c, due at 5, fits
            into the first wheel now, which covers 3 to 5 ms
    at 5    c runs
    at 9    d is added again: into the second wheel, which covers 9 to 17 ms, as bucket 15
    at 15   and again, into the first, which covers 15 to 17 ms, as bucket 17
    at 17   d runs

So a task is moved once for each wheel at the most, however many tasks there are; a heap would pay
the logarithm of their number for each, and keep those that are cancelled until their time.

Source: Kafka's `TimingWheel`, `TimerTaskList`.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from threading import RLock


class TimerTask:
    """Something to run later.

    Attributes:
        due_ns: when, on the timer's clock.
        run: is called then, once.
        bucket: that it waits in; None once it is due or cancelled.
    """

    __slots__ = ("bucket", "due_ns", "run")

    def __init__(self, due_ns: int, run: Callable[[], object]) -> None:
        self.due_ns = due_ns
        self.run = run
        self.bucket: Bucket | None = None

    def cancel(self) -> bool:
        """See that it does not run; return False if it is due or cancelled already."""
        bucket = self.bucket
        if bucket is None:
            return False
        with bucket.queue.lock:
            if self.bucket is None:
                return False
            self.bucket.forget(self)
            return True


class BucketQueue:
    """The buckets of all wheels of a timer that have tasks, or had some, by when they are due.

    Attributes:
        lock: is held by whoever adds, moves or cancels a task of the timer.
        task_count: how many tasks wait in all buckets.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self.task_count = 0
        self._buckets: list[tuple[int, int, Bucket]] = []
        self._added_count = 0

    @property
    def next_ns(self) -> int | None:
        """Return when the first bucket is due; None without any."""
        return self._buckets[0][0] if self._buckets else None

    def add(self, bucket: "Bucket") -> None:
        """Add a bucket that has a new tick."""
        self._added_count += 1
        heappush(self._buckets, (bucket.due_ns, self._added_count, bucket))

    def due(self, now_ns: int) -> "Bucket | None":
        """Remove and return the first bucket, if it is due."""
        if not self._buckets or self._buckets[0][0] > now_ns:
            return None
        return heappop(self._buckets)[2]


class Bucket:
    """The tasks that are due in one tick of a wheel.

    Attributes:
        queue: of the timer.
        due_ns: when its tick begins; -1 while it has none.
    """

    __slots__ = ("_tasks", "due_ns", "queue")

    def __init__(self, queue: BucketQueue) -> None:
        self.queue = queue
        self.due_ns = -1
        self._tasks: dict[TimerTask, None] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def add(self, task: TimerTask, due_ns: int) -> None:
        """Add a task that waits in no bucket; queue the bucket if it has another tick now."""
        self._tasks[task] = None
        task.bucket = self
        self.queue.task_count += 1
        if self.due_ns != due_ns:
            self.due_ns = due_ns
            self.queue.add(self)

    def forget(self, task: TimerTask) -> None:
        """Remove a task that it has."""
        del self._tasks[task]
        task.bucket = None
        self.queue.task_count -= 1

    def empty(self) -> list[TimerTask]:
        """Return all tasks, in the order in which they were added, and have none."""
        tasks = list(self._tasks)
        self._tasks.clear()
        for task in tasks:
            task.bucket = None
        self.queue.task_count -= len(tasks)
        self.due_ns = -1
        return tasks


class TimingWheel:
    """Buckets for one span of time, and a coarser wheel for what is later.

    Attributes:
        tick_ns: the time of a bucket.
        interval_ns: the time of all of them.
    """

    def __init__(self, tick_ns: int, size: int, start_ns: int, queue: BucketQueue) -> None:
        """Begin without tasks.

        Args:
            tick_ns: the time of a bucket.
            size: how many buckets there are.
            start_ns: the time now.
            queue: gets each bucket that is to be emptied.
        """
        self.tick_ns = tick_ns
        self.interval_ns = tick_ns * size
        self._now_ns = start_ns - start_ns % tick_ns
        self._buckets = [Bucket(queue) for _ in range(size)]
        self._queue = queue
        self._overflow: TimingWheel | None = None

    def add(self, task: TimerTask) -> bool:
        """Put a task into its bucket; return False if it is due."""
        if task.due_ns < self._now_ns + self.tick_ns:
            return False
        if task.due_ns >= self._now_ns + self.interval_ns:
            return self._coarser().add(task)
        number = task.due_ns // self.tick_ns
        self._buckets[number % len(self._buckets)].add(task, number * self.tick_ns)
        return True

    def advance(self, now_ns: int) -> None:
        """Say what time it is, when a bucket is due."""
        if now_ns >= self._now_ns + self.tick_ns:
            self._now_ns = now_ns - now_ns % self.tick_ns
            if self._overflow is not None:
                self._overflow.advance(now_ns)

    def _coarser(self) -> "TimingWheel":
        """Return the wheel for what is later; it is made when it is needed first."""
        if self._overflow is None:
            size = len(self._buckets)
            self._overflow = TimingWheel(self.interval_ns, size, self._now_ns, self._queue)
        return self._overflow
