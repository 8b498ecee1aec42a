import pytest

from kdiag.lab.timer.wheel import Bucket, BucketQueue, TimerTask, TimingWheel


def task(due_ns: int) -> TimerTask:
    """Return a task that does nothing."""
    return TimerTask(due_ns, lambda: None)


def drain(wheel: TimingWheel, queue: BucketQueue) -> list[tuple[int, list[int]]]:
    """Let time pass; return each bucket's time, and the tasks that were due then."""
    seen = []
    while (next_ns := queue.next_ns) is not None:
        bucket = queue.due(next_ns)
        assert bucket is not None
        wheel.advance(next_ns)
        due = [each.due_ns for each in bucket.empty() if not wheel.add(each)]
        seen.append((next_ns, due))
    return seen


def test_the_example_of_the_docstring() -> None:
    """Tasks are moved once for each wheel, and time never passes through empty buckets."""
    queue = BucketQueue()
    wheel = TimingWheel(1, 3, 0, queue)
    for due_ns in (1, 2, 5, 17):
        assert wheel.add(task(due_ns))
    assert drain(wheel, queue) == [
        (1, [1]),
        (2, [2]),
        (3, []),
        (5, [5]),
        (9, []),
        (15, []),
        (17, [17]),
    ]
    assert queue.task_count == 0


def test_what_is_due_is_not_put_into_a_bucket() -> None:
    """Nor what is due within the tick of now."""
    wheel = TimingWheel(10, 3, 105, BucketQueue())
    assert not wheel.add(task(99))
    assert not wheel.add(task(109))
    assert wheel.add(task(110))


@pytest.mark.parametrize("size", [2, 3, 20])
def test_every_task_is_due_once_and_in_its_tick(size: int) -> None:
    """Whatever wheels it passes through."""
    queue = BucketQueue()
    wheel = TimingWheel(4, size, 3, queue)
    due = [each for each in range(8, 5000, 7) if wheel.add(task(each))]
    seen = drain(wheel, queue)
    assert sorted(each for _, tasks in seen for each in tasks) == due
    assert all(at_ns <= each < at_ns + 4 for at_ns, tasks in seen for each in tasks)
    assert [at_ns for at_ns, _ in seen] == sorted(at_ns for at_ns, _ in seen)


def test_a_task_that_is_cancelled_is_in_no_bucket() -> None:
    """Only the first time does that change anything; one that is due is not cancelled."""
    queue = BucketQueue()
    wheel = TimingWheel(1, 20, 0, queue)
    kept, dropped = task(5), task(5)
    assert wheel.add(kept)
    assert wheel.add(dropped)
    assert queue.task_count == 2
    assert [dropped.cancel(), dropped.cancel()] == [True, False]
    assert queue.task_count == 1
    assert drain(wheel, queue) == [(5, [5])]
    assert not kept.cancel()


def test_a_bucket_is_queued_once_for_each_tick() -> None:
    """Tasks that move from one to another are counted once."""
    queue = BucketQueue()
    bucket, other = Bucket(queue), Bucket(queue)
    for _ in range(3):
        bucket.add(task(7), 7)
    assert (len(bucket), queue.task_count, queue.next_ns) == (3, 3, 7)
    first = queue.due(7)
    assert first is bucket
    assert (queue.next_ns, queue.due(7)) == (None, None)
    for each in bucket.empty():
        other.add(each, 9)
    assert (len(bucket), len(other), queue.task_count) == (0, 3, 3)
    bucket.add(task(27), 27)
    assert queue.due(9) is other
    assert queue.next_ns == 27
