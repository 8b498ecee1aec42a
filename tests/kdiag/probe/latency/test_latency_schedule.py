from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kdiag.probe.latency.latency_schedule import Due, OpenLoopSchedule


def test_kinds_take_turns_and_the_order_rotates() -> None:
    """Two turns of three kinds."""
    schedule = OpenLoopSchedule(0, 10, 60, 3)
    kinds = [each.kind for each in schedule.take(1000)]
    assert kinds == [0, 1, 2, 1, 2, 0]


def test_what_is_late_keeps_its_time() -> None:
    """Nobody asked for 25 units: what was due meanwhile is due all the same."""
    schedule = OpenLoopSchedule(100, 10, 1000, 1)
    assert schedule.take(99) == []
    assert schedule.take(100) == [Due(100, 0)]
    assert schedule.next_ns == 110
    assert schedule.take(135) == [Due(110, 0), Due(120, 0), Due(130, 0)]


@given(st.integers(1, 50), st.integers(1, 5), st.integers(0, 500), st.lists(st.integers(0, 100)))
def test_a_schedule_does_not_depend_on_when_it_is_looked_at(
    interval_ns: int, kinds: int, length_ns: int, pauses_ns: list[int]
) -> None:
    """The same requests at the same times, each kind as often as any other."""
    looked, at_once = (OpenLoopSchedule(7, interval_ns, 7 + length_ns, kinds) for _ in range(2))
    now_ns, taken = 0, []
    for pause_ns in pauses_ns:
        now_ns += pause_ns
        taken += looked.take(now_ns)
        assert all(each.due_ns <= now_ns for each in taken)
    taken += looked.take(10_000)
    assert taken == at_once.take(10_000)
    assert looked.next_ns is None
    assert len(taken) == -(-length_ns // interval_ns)
    counts = Counter(each.kind for each in taken[: len(taken) // kinds * kinds])
    assert len(set(counts.values())) <= 1
