import pytest

from kdiag.clock import ManualClock, SteadyClock, SystemClock, wait_ns


def test_a_manual_clock_moves_only_when_told() -> None:
    """Both readings advance together, and never back."""
    clock = ManualClock(epoch_ns=1_000)
    clock.advance(5)

    assert (clock.monotonic_ns(), clock.epoch_ns()) == (5, 1_005)
    with pytest.raises(ValueError, match="cannot go back by 1 ns"):
        clock.advance(-1)


def test_the_system_clock_counts_nanoseconds_since_1970() -> None:
    """The wall clock is past 2020, the monotonic one never goes back."""
    clock = SystemClock()

    assert clock.epoch_ns() > 1_577_836_800 * 10**9
    assert clock.monotonic_ns() <= clock.monotonic_ns()


def test_the_readings_of_a_steady_clock_stay_as_far_apart_as_they_were() -> None:
    """A wall clock that is set meanwhile would change what is measured with it."""
    clock = SteadyClock()
    before_ns, between_ns, after_ns = clock.monotonic_ns(), clock.epoch_ns(), clock.monotonic_ns()
    offset_ns = clock.epoch_ns() - clock.monotonic_ns()

    assert before_ns <= between_ns - clock._offset_ns <= after_ns
    assert abs(offset_ns - clock._offset_ns) < 10**9
    assert abs(clock.epoch_ns() - SystemClock().epoch_ns()) < 10**9


def test_one_waits_until_something_is_due_or_the_time_is_up() -> None:
    """What is overdue is not waited for; nothing due and no limit is forever."""
    clock = ManualClock()
    clock.advance(10)

    assert wait_ns(clock, None, None) is None
    assert wait_ns(clock, None, 7) == 7
    assert wait_ns(clock, 15, None) == 5
    assert [wait_ns(clock, 15, limit) for limit in (4, 6)] == [4, 5]
    assert wait_ns(clock, 9, 6) == 0
