"""Tests of whether two captures differ by more than noise.

Latencies that follow each other are alike: a pause of the broker makes a hundred of them late. Who
takes each as a witness of its own finds a difference between any two captures. So a capture is cut
into blocks that follow each other, each block gives one number (such as its median), and blocks are
compared with blocks:

    before    2.1  2.3  2.2  2.0  2.4  2.2  2.1  2.3 ms
    after     7.2  7.1  7.4  7.3  7.0  7.2  7.5  7.1 ms    each after is above each before

- Mann-Whitney's U tells how probable such an order of blocks is if nothing has changed.
- Blocks that follow each other may still be alike; by their autocorrelation the test believes them
  less. Not so where the captures lie farther apart than three times what either wanders within
  itself: no wandering leads there.
- Of many comparisons some look unlikely by chance: Holm's correction makes up for that.
- What is unlikely by chance may still be too small to matter: two runs of the same load differ by
  some percent though nobody has changed anything. So a change counts if it is also larger than
  `least_change`, and if nearly all pairs of blocks (`_LEAST_SUPERIORITY`) show it.

Sources: Mann and Whitney 1947, with the normal approximation and ties; Hodges and Lehmann 1963 for
the size of the shift; Holm 1979; Fisher's exact test for what happens in few blocks.
"""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from math import comb, exp, log, sqrt
from statistics import NormalDist, fmean, median
from typing import Final, NamedTuple

FEWEST_BLOCKS: Final = 8
"""With fewer on a side, even blocks without overlap prove nothing beside other comparisons."""

ALPHA: Final = 0.01
LEAST_CHANGE: Final = 0.2
_LEAST_SUPERIORITY: Final = 0.9
_MOST_CORRELATION: Final = 0.9
_FAR: Final = 3.0
_TAILS: Final = 10  # a tenth of the blocks at either end are outliers to what a series wanders
_MOST_LOG: Final = 700.0  # of a ratio that a float holds
_NORMAL: Final = NormalDist()


class NoiseVerdict(StrEnum):
    """What a comparison says."""

    NOISE = "noise"
    """No difference beyond noise."""
    MORE = "more"
    LESS = "less"
    TOO_FEW = "too_few"
    """Too few blocks to tell."""


class BlockComparison(NamedTuple):
    """Two series of blocks, compared.

    Attributes:
        ratio: how many times as large the second is, typically.
        shift: by how much it is larger, typically, in the unit of the blocks.
        superiority: in which part of the pairs of blocks the second is larger; 0.5 if alike.
        p_value: how probable such an order is by chance; 1 with too few blocks.
        blocks: how many there are, before and after.
    """

    ratio: float
    shift: float
    superiority: float
    p_value: float
    blocks: tuple[int, int]

    @property
    def has_enough(self) -> bool:
        """Return whether there are enough blocks to tell."""
        return min(self.blocks) >= FEWEST_BLOCKS


def compare_blocks(before: Sequence[float], after: Sequence[float]) -> BlockComparison:
    """Compare two series of blocks.

    Args:
        before: a number of each block, in the order of time; 0 or above.
        after: likewise.
    """
    blocks = (len(before), len(after))
    if not before or not after:
        return BlockComparison(1.0, 0.0, 0.5, 1.0, blocks)
    shift = median(late - early for early in before for late in after)
    ratio = _typical_ratio(before, after)
    pairs = len(before) * len(after)
    wins = sum((late > early) + 0.5 * (late == early) for early in before for late in after)
    if min(blocks) < FEWEST_BLOCKS:
        return BlockComparison(ratio, shift, wins / pairs, 1.0, blocks)
    spread = _spread(before, after)
    p_value = 1.0
    if spread > 0:
        wandered = max(map(_wandered, (before, after)))
        inflation = 1.0 if abs(shift) > _FAR * wandered else _inflation(before, after)
        z = (wins - pairs / 2) / spread / sqrt(inflation)
        p_value = 2 * _NORMAL.cdf(-abs(z))
    return BlockComparison(ratio, shift, wins / pairs, p_value, blocks)


def compare_occurrences(before: tuple[int, int], after: tuple[int, int]) -> float:
    """Return how probable it is by chance that something is in so many blocks.

    By Fisher's exact test.

    Args:
        before: in how many blocks it is, and how many there are.
        after: likewise.
    """
    (seen, blocks), (seen_after, blocks_after) = before, after
    total, marked = blocks + blocks_after, seen + seen_after
    whole = comb(total, marked)

    def chance(count: int) -> float:
        return comb(blocks, count) * comb(blocks_after, marked - count) / whole

    here = chance(seen)
    possible = range(max(0, marked - blocks_after), min(blocks, marked) + 1)
    return min(1.0, sum(each for each in map(chance, possible) if each <= here * (1 + 1e-9)))


def corrected(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for that there are so many (Holm), in the same order."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    result = [1.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, p_values[place] * (len(p_values) - rank)))
        result[place] = highest
    return result


def verdict_of(
    comparison: BlockComparison,
    p_value: float,
    least_change: float = LEAST_CHANGE,
    least_shift: float = 0.0,
) -> NoiseVerdict:
    """Return what a comparison says.

    Args:
        comparison: of blocks.
        p_value: of it, corrected.
        least_change: by which part it must differ to count, such as 0.2.
        least_shift: by how much it must differ to count, in the unit of the blocks.
    """
    if not comparison.has_enough:
        return NoiseVerdict.TOO_FEW
    is_clear = abs(comparison.superiority - 0.5) >= _LEAST_SUPERIORITY - 0.5
    is_large = abs(log(comparison.ratio)) >= log(1 + least_change)
    if p_value >= ALPHA or not is_clear or not is_large or abs(comparison.shift) < least_shift:
        return NoiseVerdict.NOISE
    return NoiseVerdict.MORE if comparison.superiority > 0.5 else NoiseVerdict.LESS  # noqa: PLR2004 - half


def _typical_ratio(before: Sequence[float], after: Sequence[float]) -> float:
    """Return the median of the ratios of all pairs; what is 0 counts as the least that is not."""
    least = min((each for each in (*before, *after) if each > 0), default=1.0)
    logs = [[log(max(each, least)) for each in side] for side in (before, after)]
    typical = median(late - early for early in logs[0] for late in logs[1])
    return exp(min(max(typical, -_MOST_LOG), _MOST_LOG))


def _spread(before: Sequence[float], after: Sequence[float]) -> float:
    """Return the standard deviation of U if nothing has changed, ties considered."""
    one, other = len(before), len(after)
    total = one + other
    ties = sum(count**3 - count for count in Counter((*before, *after)).values())
    return sqrt(one * other / 12 * (total + 1 - ties / (total * (total - 1))))


def _inflation(before: Sequence[float], after: Sequence[float]) -> float:
    """Return how many times as much the statistic varies because neighbours are alike."""
    parts = [(_autocorrelation(each), len(each)) for each in (before, after)]
    mean = sum(each * count for each, count in parts) / sum(count for _, count in parts)
    mean = min(max(mean, 0.0), _MOST_CORRELATION)
    return (1 + mean) / (1 - mean)


def _wandered(series: Sequence[float]) -> float:
    """Return how far the blocks of a series lie apart, without a tenth at either end."""
    order = sorted(series)
    left_out = len(order) // _TAILS
    return order[-1 - left_out] - order[left_out]


def _autocorrelation(series: Sequence[float]) -> float:
    """Return how alike neighbours are, by their ranks: outliers say little of that."""
    order = sorted(series)
    ranks = [(order.index(each) + len(order) - 1 - order[::-1].index(each)) / 2 for each in series]
    centre = fmean(ranks)
    squares = sum((each - centre) ** 2 for each in ranks)
    count = len(ranks)
    if not squares or count < FEWEST_BLOCKS:
        return 0.0
    found = sum((one - centre) * (other - centre) for one, other in pairwise(ranks)) / squares
    return (found * count + 1) / (count - 3)  # of a short series it comes out too small (Kendall)
