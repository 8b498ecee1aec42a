import math
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kdiag.diagnosis.difference.noise import (
    NoiseVerdict,
    compare_blocks,
    compare_occurrences,
    corrected,
    verdict_of,
)
from tiers.cases import for_each

BEFORE = [2.1, 2.3, 2.2, 2.0, 2.4, 2.2, 2.1, 2.3, 2.25, 2.15]
AFTER = [each + 5 for each in BEFORE[::-1]]


def test_blocks_without_overlap_differ() -> None:
    """By how much is the typical difference of pairs, which is that of the blocks."""
    found = compare_blocks(BEFORE, AFTER)

    assert found.superiority == 1
    assert found.shift == pytest.approx(5)
    assert found.ratio == pytest.approx(3.28, abs=0.05)
    assert found.p_value < 0.001
    assert verdict_of(found, found.p_value) is NoiseVerdict.MORE
    assert verdict_of(compare_blocks(AFTER, BEFORE), found.p_value) is NoiseVerdict.LESS


def test_the_test_is_that_of_mann_and_whitney() -> None:
    """The known case has U = 15 of 64, and no neighbours that are alike."""
    one, other = [19, 22, 16, 29, 24, 17, 28, 21.0], [20, 11, 17, 12, 13, 10, 14, 15.0]
    found = compare_blocks(one, other)

    wins = sum((late > early) + 0.5 * (late == early) for early in one for late in other)
    assert found.superiority == wins / 64
    assert found.p_value == pytest.approx(0.0063, abs=0.003)


def test_what_is_the_same_is_noise() -> None:
    """Also where all blocks are equal, of which nobody can tell an order."""
    for blocks in (BEFORE, [1.0] * 10, [0.0] * 10):
        found = compare_blocks(blocks, blocks)
        assert found.p_value > 0.9
        assert verdict_of(found, found.p_value) is NoiseVerdict.NOISE


def test_neighbours_that_are_alike_are_believed_less() -> None:
    """A slow drift within both captures is no proof of a difference between them."""
    drift = [1 + 0.1 * number for number in range(10)]
    shuffled = random.Random(1).sample(drift, 10)
    later = [each + 0.45 for each in drift]
    later_shuffled = random.Random(2).sample(later, 10)

    assert compare_blocks(drift, later).p_value > compare_blocks(shuffled, later_shuffled).p_value


def test_a_drift_within_captures_hides_no_difference_that_is_far_larger() -> None:
    """A broker whose answers become slower by a third, and one that is nine times as slow."""
    drift = [0.66, 0.75, 0.68, 0.67, 0.61, 0.60, 0.78, 0.85, 0.80, 0.77, 0.83, 0.81, 0.79, 0.87]
    found = compare_blocks(drift, [each + 6.3 for each in drift])

    assert found.p_value < 1e-4
    assert compare_blocks(drift, [each + 0.3 for each in drift]).p_value > found.p_value
    assert compare_blocks(drift, drift[::-1]).p_value > 0.1


@for_each(
    ("changes", "verdict"),
    [
        ({"p_value": 0.02}, NoiseVerdict.NOISE),
        ({"least_change": 3.0}, NoiseVerdict.NOISE),
        ({"least_shift": 6.0}, NoiseVerdict.NOISE),
        ({}, NoiseVerdict.MORE),
    ],
    ids=["may be chance", "too small a part", "too small", "differs"],
)
def test_a_change_must_be_unlikely_and_large(
    changes: dict[str, float], verdict: NoiseVerdict
) -> None:
    """What is one alone is noise."""
    found = compare_blocks(BEFORE, AFTER)

    assert verdict_of(found, **({"p_value": 1e-4} | changes)) is verdict


def test_too_few_blocks_are_not_judged() -> None:
    """It is said that they are too few, whatever they show."""
    for before, after in ((BEFORE[:7], AFTER), ([], AFTER), (BEFORE, [])):
        found = compare_blocks(before, after)
        assert found.p_value == 1
        assert verdict_of(found, 1e-9) is NoiseVerdict.TOO_FEW


def test_occurrences_are_compared_exactly() -> None:
    """Fisher's own example, and what is in all blocks or in none."""
    assert compare_occurrences((3, 4), (1, 4)) == pytest.approx(34 / 70)
    assert compare_occurrences((0, 20), (20, 20)) < 1e-10
    assert compare_occurrences((0, 20), (2, 20)) > 0.4
    assert compare_occurrences((0, 20), (0, 20)) == 1


def test_many_comparisons_are_corrected() -> None:
    """Holm: the least times four, the next times three, and no smaller than the one before."""
    assert corrected([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert corrected([]) == []
    assert corrected([0.9, 0.8]) == [1, 1]


@pytest.mark.thorough
def test_noise_alone_is_seldom_called_a_difference() -> None:
    """Of 300 pairs of series whose neighbours are alike 1 of 100 differs by the whole rule."""
    chance = random.Random(7)

    def series() -> list[float]:
        state, found = 0.0, []
        for _ in range(20):
            state = 0.4 * state + 0.9 * chance.gauss(0, 1)
            found.append(math.exp(0.3 * state))
        return found

    compared = [compare_blocks(series(), series()) for _ in range(300)]
    verdicts = [verdict_of(each, each.p_value) for each in compared]

    assert sum(each is not NoiseVerdict.NOISE for each in verdicts) <= 3
    assert sum(each.p_value < 0.01 for each in compared) <= 12


@given(*[st.lists(st.floats(0, 1e9), max_size=25) for _ in range(2)])
@example([2.2250738585072014e-308], [5.0])
@example([3.0], [5e-324])
def test_every_series_is_compared(before: list[float], after: list[float]) -> None:
    """Numbers are in their ranges, whatever the blocks are."""
    found = compare_blocks(before, after)

    assert 0 <= found.superiority <= 1
    assert 0 <= found.p_value <= 1
    assert found.ratio > 0
    assert verdict_of(found, found.p_value) in NoiseVerdict
