"""All scenarios that come with kdiag, each with its disturbance and without."""

from typing import Final

import pytest

from kdiag.lab.scenario.judgement import text_of
from kdiag.lab.scenario.scenario_run import ScenarioOutcome, run_scenario
from kdiag.lab.scenario.shipped import shipped_scenarios

pytestmark = pytest.mark.soak

THEMES: Final = sorted({each.theme for each in shipped_scenarios()})


def line(outcome: ScenarioOutcome) -> str:
    """Return how a scenario went, in a line for each thing that it looks for."""
    head = f"{outcome.scenario.name} ({'with' if outcome.is_disturbed else 'without'} disturbance)"
    told = [
        f"{text_of(each.wanted)}: {'as wanted' if each.is_right else 'NOT so'} {each.evidence}"
        for each in outcome.verdicts
    ]
    failures = f" clients: {outcome.failures}" if outcome.failures else ""
    return f"{head}: {outcome.trouble or '; '.join(told)}{failures}"


@pytest.mark.parametrize("theme", THEMES)
def test_each_finds_what_it_names_and_nothing_of_it_without_its_disturbance(theme: str) -> None:
    """Every scenario of a theme is run both ways; what did not pass is told in full."""
    outcomes = [
        run_scenario(each.scenario, is_disturbed=is_disturbed)
        for each in shipped_scenarios()
        if each.theme == theme
        for is_disturbed in (True, False)
    ]
    for each in outcomes:
        print(f"{each.took_ns / 1e9:5.1f} s  {line(each)}")  # noqa: T201 - shown where it fails
    assert [line(each) for each in outcomes if not each.passes] == []
