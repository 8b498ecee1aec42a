import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.report.overview.time_bins import bins_over

S = 1_000_000_000


@pytest.mark.parametrize(
    ("first_ns", "last_ns", "width_ns", "start_ns", "count"),
    [
        (3 * S // 10, 409 * S // 10, S // 2, 0, 82),
        (7 * S, 7 * S, 1_000_000, 7 * S, 1),
        (0, 366 * 86_400 * S, 4 * 86_400 * S, 0, 92),
    ],
    ids=["40 seconds", "one moment", "a year"],
)
def test_bins_are_as_long_as_clocks_have_it(
    first_ns: int, last_ns: int, width_ns: int, start_ns: int, count: int
) -> None:
    """The shortest length is taken of which there are not too many."""
    bins = bins_over(first_ns, last_ns)

    assert (bins.width_ns, bins.start_ns, bins.number) == (width_ns, start_ns, count)


@given(st.integers(0, 10**19), st.integers(0, 10**18))
def test_bins_hold_the_whole_time_and_are_few(first_ns: int, span_ns: int) -> None:
    """No moment is outside of them."""
    bins = bins_over(first_ns, first_ns + span_ns)

    assert bins.start_ns <= first_ns
    assert first_ns + span_ns < bins.start_ns + bins.number * bins.width_ns
    assert bins.number <= 100
    assert bins.start_ms(1) - bins.start_ms(0) == pytest.approx(bins.width_s * 1000, abs=2)
