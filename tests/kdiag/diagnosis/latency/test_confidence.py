from math import comb

from hypothesis import given
from hypothesis import strategies as st

from kdiag.diagnosis.latency.confidence import Ranks, least_count, ranks_of
from tiers.cases import for_each

QUANTILES = (0.5, 0.95, 0.99, 0.999)


def cumulative(count: int, quantile: float, below: int) -> float:
    """Return how probable it is that at most so many samples lie below the quantile."""
    return sum(
        comb(count, each) * quantile**each * (1 - quantile) ** (count - each)
        for each in range(below + 1)
    )


@for_each(
    ("count", "quantile", "ranks"),
    [
        (1, 0.5, Ranks(None, 1, None)),
        (5, 0.5, Ranks(None, 3, None)),
        (6, 0.5, Ranks(1, 3, 6)),
        (100, 0.5, Ranks(40, 50, 61)),
        (1000, 0.99, Ranks(983, 990, 997)),
    ],
)
def test_ranks_are_those_of_the_tables(count: int, quantile: float, ranks: Ranks) -> None:
    """The median of a hundred samples lies between the 40th and the 61st."""
    assert ranks_of(count, quantile) == ranks


@given(st.integers(1, 400), st.sampled_from(QUANTILES))
def test_bounds_hold_as_often_as_is_said_and_no_closer_ones_do(count: int, quantile: float) -> None:
    """Each bound is missed in at most 2.5 % of all cases; the next rank would be missed more."""
    lower, _, upper = ranks_of(count, quantile)
    tail = 0.025 + 1e-9
    if lower is None:
        assert cumulative(count, quantile, 0) > 0.025 - 1e-9
    else:
        assert cumulative(count, quantile, lower - 1) <= tail
        assert cumulative(count, quantile, lower) > 0.025 - 1e-9
    if upper is None:
        assert 1 - cumulative(count, quantile, count - 1) > 0.025 - 1e-9
    else:
        assert 1 - cumulative(count, quantile, upper - 1) <= tail
        assert 1 - cumulative(count, quantile, upper - 2) > 0.025 - 1e-9


@for_each(("quantile", "least"), [(0.5, 6), (0.95, 72), (0.99, 368), (0.999, 3688)])
def test_rare_latencies_need_many_samples(quantile: float, least: int) -> None:
    """With one sample less there is no upper bound."""
    assert least_count(quantile) == least
    assert ranks_of(least, quantile).upper == least
    assert ranks_of(least - 1, quantile).upper is None


def test_a_million_samples_take_no_time_and_have_close_bounds() -> None:
    """As many ranks as the normal distribution would say: 1.96 standard deviations."""
    assert ranks_of(1_000_000, 0.5) == Ranks(499_020, 500_000, 500_981)
