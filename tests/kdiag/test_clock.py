import pytest

from kdiag.clock import ManualClock, SystemClock


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
