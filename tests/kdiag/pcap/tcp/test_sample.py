import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kdiag.exchange.tcp_facts import Spread
from kdiag.pcap.tcp.sample import Sample


def sample_of(values: list[int], size: int) -> Sample:
    """Return a sample that was given values some at a time."""
    sample = Sample()
    for first in range(0, len(values), size):
        sample.add(np.array(values[first : first + size], np.int64))
    return sample


def test_no_values_have_no_spread() -> None:
    """There is neither a least nor a median of nothing."""
    assert sample_of([], 1).spread() is None
    assert sample_of([], 1).least is None


@given(st.lists(st.integers(0, 10**12), min_size=1), st.integers(1, 50))
def test_few_values_are_kept_exactly(values: list[int], size: int) -> None:
    """Median and 95th percentile are values of the sample."""
    ordered = sorted(values)
    median, p95 = (ordered[(len(values) - 1) * part // 100] for part in (50, 95))
    spread = Spread(ordered[0], median, p95, ordered[-1])
    assert sample_of(values, size).spread() == spread


def test_many_values_take_no_more_memory() -> None:
    """A million values are thinned out, and their spread is still right within a hundredth."""
    sample = Sample()
    for first in range(0, 1_000_000, 1000):
        sample.add(np.arange(first, first + 1000, dtype=np.int64))
    assert sum(len(part) for part in sample._kept) <= 1 << 15
    spread = sample.spread()
    assert spread is not None
    assert (spread.least, spread.most) == (0, 999_999)
    assert abs(spread.median - 500_000) < 10_000
    assert abs(spread.p95 - 950_000) < 10_000
