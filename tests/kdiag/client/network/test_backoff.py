from hypothesis import given
from hypothesis import strategies as st

from kdiag.client.network.backoff import ExponentialBackoff, random_fraction


def test_intervals_double_up_to_the_maximum() -> None:
    """Without jitter the row is 50, 100, 200 ... and then the maximum for ever."""
    backoff = ExponentialBackoff(50, 1000, jitter=0)

    row = [backoff.after(attempts) for attempts in range(7)]
    assert row == [50, 100, 200, 400, 800, 1000, 1000]
    assert backoff.after(10**9) == 1000


def test_a_maximum_that_is_not_above_the_first_interval_is_constant() -> None:
    """Growth is switched off by setting both to the same."""
    backoff = ExponentialBackoff(50, 50)

    assert {backoff.after(attempts) for attempts in range(20)} == {50}


def test_jitter_moves_an_interval_both_ways() -> None:
    """A fifth of 100 is 20: the least random number gives 80, the greatest almost 120."""
    assert ExponentialBackoff(100, 1000, fraction=lambda: 0.0).after(0) == 80
    assert ExponentialBackoff(100, 1000, fraction=lambda: 1 - 2**-32).after(0) == 119


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.integers(0, 100))
def test_no_interval_exceeds_the_maximum(initial_ns: int, max_ns: int, attempts: int) -> None:
    """Jitter included, whatever the numbers are."""
    assert 0 <= ExponentialBackoff(initial_ns, max_ns).after(attempts) <= max_ns


def test_random_fractions_lie_between_0_and_1() -> None:
    """They are not all the same."""
    fractions = [random_fraction() for _ in range(100)]

    assert all(0 <= each < 1 for each in fractions)
    assert len(set(fractions)) > 90
