"""Confidence: bounds of a percentile that hold for every distribution of latencies.

The number of samples below the true quantile follows the binomial distribution. So there are ranks
of the sorted samples between which the true quantile lies with 95 % confidence:

    1000 samples, p99:  the 983rd, the 990th and the 997th smallest

Few samples say nothing about rare latencies: the upper rank is missing then. The method assumes
independent samples, which those of one connection are not quite.

Source: H. A. David, H. N. Nagaraja, Order Statistics, section 7.1.
"""

from math import ceil, exp, lgamma, log, log1p
from typing import Final, NamedTuple

CONFIDENCE: Final = 0.95

_TAIL: Final = (1 - CONFIDENCE) / 2
_NEGLIGIBLE: Final = 1e-15


class Ranks(NamedTuple):
    """Ranks of sorted samples, the smallest is 1.

    Attributes:
        lower: the lower bound of the true quantile; None if even the first sample is not one.
        rank: the quantile of the samples.
        upper: the upper bound of the true quantile; None if even the last sample is not one.
    """

    lower: int | None
    rank: int
    upper: int | None


def ranks_of(count: int, quantile: float) -> Ranks:
    """Return the rank of a quantile and the ranks of its bounds.

    Args:
        count: the number of samples, at least 1.
        quantile: between 0 and 1, both excluded.
    """
    rank = min(count, max(1, ceil(quantile * count)))
    lowest, masses = _masses(count, quantile)
    below, lower, upper = 0.0, None, None
    for at, mass in enumerate(masses, lowest):
        if below <= _TAIL and at >= 1:
            lower = at
        below += mass
        if upper is None and below >= 1 - _TAIL and at < count:
            upper = at + 1
    return Ranks(lower, rank, upper)


def least_count(quantile: float) -> int:
    """Return the least number of samples with an upper bound of a quantile."""
    return ceil(log(_TAIL) / log(quantile))


def _masses(count: int, quantile: float) -> tuple[int, list[float]]:
    """Return the probabilities of the numbers of samples below the quantile.

    Returns:
        the least number whose probability is not negligible, and the probabilities from it on.
    """
    middle = min(count, int((count + 1) * quantile))
    odds = quantile / (1 - quantile)
    peak = _mass(count, quantile, middle)
    left, at, mass = [], middle, peak
    while at > 0 and mass > _NEGLIGIBLE:
        mass *= at / ((count - at + 1) * odds)
        at -= 1
        left.append(mass)
    right, at_right, mass = [], middle, peak
    while at_right < count and mass > _NEGLIGIBLE:
        mass *= (count - at_right) / (at_right + 1) * odds
        at_right += 1
        right.append(mass)
    return at, [*reversed(left), peak, *right]


def _mass(count: int, quantile: float, below: int) -> float:
    """Return the probability that exactly `below` samples lie below the quantile."""
    choices = lgamma(count + 1) - lgamma(below + 1) - lgamma(count - below + 1)
    return exp(choices + below * log(quantile) + (count - below) * log1p(-quantile))
