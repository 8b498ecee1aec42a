"""What a run draws of large matrices: a few, in time and on demand all."""

import pytest

from tiers import sampling
from tiers.sampling import sample

CASES = range(100)
MOST = 50 if sampling.IS_EXHAUSTIVE else 1


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the tests take this for a run that is not exhaustive, with a seed of its own."""
    for name, value in {"IS_EXHAUSTIVE": False, "SEED": "1"}.items():
        monkeypatch.setattr(sampling, name, value)


def test_a_run_draws_as_many_as_are_asked_for() -> None:
    """In their order; the same again for the same name, and others for another."""
    drawn = sample("one", CASES, 10)
    assert len(drawn) == 10
    assert list(drawn) == sorted(set(drawn))
    assert drawn == sample("one", CASES, 10) != sample("other", CASES, 10)
    assert sample("one", CASES, 100) is CASES


def test_an_exhaustive_run_draws_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was asked for."""
    monkeypatch.setattr(sampling, "IS_EXHAUSTIVE", True)
    assert sample("one", CASES, 1) is CASES


def test_in_time_every_case_has_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each seed draws its own: after a hundred commits all have been drawn."""
    drawn: set[int] = set()
    for seed in range(100):
        monkeypatch.setattr(sampling, "SEED", str(seed))
        drawn |= set(sample("one", CASES, 10))
    assert drawn == set(CASES)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", range(50))
def test_the_marker_leaves_out_what_is_not_drawn(
    number: int, request: pytest.FixtureRequest
) -> None:
    """This test is such a matrix of fifty: at most one of them is here, unless all are."""
    name = request.node.originalname
    here = [each for each in request.session.items if each.name.startswith(f"{name}[")]
    assert f"{name}[{number}]" in {each.name for each in here}
    assert len(here) <= MOST
