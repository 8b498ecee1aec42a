"""Which cases of a large matrix a run draws: a few by a seed, or all with KDIAG_EXHAUSTIVE=1.

The seed is new in every run by hand, so that in time all cases have their turn, and the header of
the run prints it; KDIAG_SEED draws the same cases again. `.ci/run` takes it from the commit, so
that what passed once passes where it lands. Workers of pytest-xdist inherit it.
"""

import os
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

import pytest

IS_CI: Final = os.environ.get("CI") == "true"
IS_EXHAUSTIVE: Final = os.environ.get("KDIAG_EXHAUSTIVE") == "1"
SEED: Final = os.environ.setdefault("KDIAG_SEED", str(random.SystemRandom().randrange(1 << 32)))

T = TypeVar("T")


def sample(name: str, cases: Sequence[T], count: int) -> Sequence[T]:
    """Return so many of the cases in their order, or all of them; each name draws its own."""
    if IS_EXHAUSTIVE or count >= len(cases):
        return cases
    drawn = random.Random(f"{SEED} {name}").sample(range(len(cases)), count)
    return [cases[number] for number in sorted(drawn)]


def is_drawn(name: str, of: int) -> bool:
    """Return whether this run draws a test, as it does one of so many."""
    return IS_EXHAUSTIVE or random.Random(f"{SEED} {name}").randrange(of) == 0


def not_drawn(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """Return the cases of tests with the marker `sampled` that this run leaves out."""
    matrices: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            matrices[item.nodeid.partition("[")[0]].append(item)
    return {item for name, cases in matrices.items() for item in _left_out(name, cases)}


def _left_out(name: str, cases: list[pytest.Item]) -> set[pytest.Item]:
    marker = cases[0].get_closest_marker("sampled")
    assert marker is not None
    in_order = sorted(cases, key=lambda item: item.nodeid)
    return set(cases) - set(sample(name, in_order, *marker.args))
